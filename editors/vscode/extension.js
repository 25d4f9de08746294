'use strict';
// Starts "sbx-devc lsp" and shows what it finds. Everything else is in the server.

const vscode = require('vscode');
const {LanguageClient, TransportKind} = require('vscode-languageclient/node');

/** The files that the server judges. */
const files = [
  '**/devcontainer.json', '**/.devcontainer.json', '**/devcontainer-feature.json', '**/devcontainer-template.json',
  '**/.devcontainer/**/sandbox.jsonc', '**/sbx-devc.jsonc', '**/{Dockerfile,Containerfile}', '**/{Dockerfile,Containerfile}.*',
  '**/*.{dockerfile,Dockerfile}', '**/{compose,docker-compose}*.{yml,yaml}',
];

let client;

/** Where the program is: the user's setting. One of a workspace does not count, so that
 * opening a folder cannot choose which program runs. */
function program() {
  const said = vscode.workspace.getConfiguration('sbx-devc').inspect('path');
  return (said && said.globalValue) || 'sbx-devc';
}

async function activate(context) {
  const server = {command: program(), args: ['lsp'], transport: TransportKind.stdio};
  client = new LanguageClient('sbx-devc', 'sbx-devc', server, {
    documentSelector: files.map(pattern => ({scheme: 'file', pattern})),
    synchronize: {fileEvents: files.map(pattern => vscode.workspace.createFileSystemWatcher(pattern))},
  });
  context.subscriptions.push({dispose: () => client.stop()});
  try {
    await client.start();
  } catch (err) {
    vscode.window.showErrorMessage(`sbx-devc does not start (${err.message}). Install it, or set "sbx-devc.path" in your user settings.`);
  }
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = {activate, deactivate};
