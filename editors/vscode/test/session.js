'use strict';
// Runs extension.js against the real server with the protocol library of Visual Studio Code:
// "node session.js PROGRAM NODE_MODULES". The editor around them is a stand-in. What both sides
// said is printed, so that a test can compare it with the recorded session.

const assert = require('assert');
const {spawn} = require('child_process');
const fs = require('fs');
const Module = require('module');
const os = require('os');
const path = require('path');
const {pathToFileURL} = require('url');

const [program, modules] = process.argv.slice(2);
const lsp = require(path.join(modules, 'vscode-languageserver-protocol', 'node'));
const settings = {globalValue: program, workspaceValue: '/the/workspace/says/this'};
const errors = [];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sbx-devc-vscode-'));

const vscode = {
  workspace: {
    getConfiguration: () => ({inspect: () => settings}),
    createFileSystemWatcher: pattern => ({pattern, dispose() {}}),
  },
  window: {showErrorMessage: text => errors.push(text)},
};

/** Prints a message without what differs between machines. */
function record(from, what, value) {
  const text = JSON.stringify(value) ?? '';
  console.log(`${from} ${what} ${text.replaceAll(pathToFileURL(dir).href, 'file:///project').replaceAll(/"version":"[^"]*"/g, '"version":"VERSION"')}`);
}

let client;
class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, {server, options, shown: [], wanted: []});
    client = this;
  }
  async start() {
    const child = spawn(this.server.command, this.server.args, {stdio: ['pipe', 'pipe', 'inherit']});
    this.ended = new Promise(resolve => child.on('exit', resolve));
    await new Promise((resolve, reject) => { child.on('spawn', resolve); child.on('error', reject); });
    this.connection = lsp.createProtocolConnection(new lsp.StreamMessageReader(child.stdout), new lsp.StreamMessageWriter(child.stdin));
    this.connection.onNotification(lsp.PublishDiagnosticsNotification.type, p => {
      record('<-', 'textDocument/publishDiagnostics', p);
      const next = this.wanted.shift();
      if (next) next(p); else this.shown.push(p);
    });
    this.connection.listen();
    await this.ask(lsp.InitializeRequest.type, {processId: null, rootUri: null, capabilities: {}});
    await this.tell(lsp.InitializedNotification.type, {});
  }
  async ask(type, params) {
    record('->', type.method, params);
    const answer = await this.connection.sendRequest(type, params);
    record('<-', type.method, type === lsp.CompletionRequest.type ? answer.map(item => item.label) : answer);
    return answer;
  }
  async tell(type, params) {
    record('->', type.method, params);
    await this.connection.sendNotification(type, params);
  }
  diagnostics() {
    return this.shown.length > 0 ? Promise.resolve(this.shown.shift()) : new Promise(resolve => this.wanted.push(resolve));
  }
  async stop() {
    await this.ask(lsp.ShutdownRequest.type);
    await this.tell(lsp.ExitNotification.type);
    return this.ended;
  }
}

const load = Module._load;
Module._load = (name, ...rest) => {
  if (name === 'vscode') return vscode;
  if (name === 'vscode-languageclient/node') return {LanguageClient, TransportKind: {stdio: 0}};
  return load(name, ...rest);
};

(async () => {
  const extension = require('../extension.js');
  await extension.activate({subscriptions: []});
  assert.deepStrictEqual(errors, []);
  assert.strictEqual(client.server.command, program, 'a workspace chose the program');
  assert.deepStrictEqual(client.server.args, ['lsp']);

  fs.mkdirSync(path.join(dir, '.devcontainer'));
  const uri = pathToFileURL(path.join(dir, '.devcontainer', 'devcontainer.json')).href;
  const at = (line, character) => ({textDocument: {uri}, position: {line, character}});
  const text = '{\n  "image": "debian:13@sha256:' + '0'.repeat(64) + '",\n  "init": "true"\n}\n';
  await client.tell(lsp.DidOpenTextDocumentNotification.type, {textDocument: {uri, languageId: 'jsonc', version: 1, text}});
  const found = await client.diagnostics();
  assert(found.diagnostics.some(d => d.code === 'SBX301'), JSON.stringify(found));
  const hover = await client.ask(lsp.HoverRequest.type, at(2, 12));
  assert(hover.contents.value.includes('SBX301'));
  const actions = await client.ask(lsp.CodeActionRequest.type,
    {textDocument: {uri}, range: found.diagnostics[0].range, context: {diagnostics: found.diagnostics, only: [lsp.CodeActionKind.QuickFix]}});
  const [edit] = actions[0].edit.changes[uri];
  const line = text.split('\n')[edit.range.start.line];
  const corrected = text.replace(line, line.slice(0, edit.range.start.character) + edit.newText + line.slice(edit.range.end.character));
  await client.tell(lsp.DidChangeTextDocumentNotification.type, {textDocument: {uri, version: 2}, contentChanges: [{text: corrected}]});
  assert.deepStrictEqual((await client.diagnostics()).diagnostics, []);
  const names = await client.ask(lsp.CompletionRequest.type, at(2, 3));
  assert(JSON.stringify(names).includes('remoteUser'));
  const code = await extension.deactivate();
  assert.strictEqual(code, 0, `the server ended with ${code}`);
  fs.rmSync(dir, {recursive: true});

  settings.globalValue = path.join(dir, 'nowhere');
  await extension.activate({subscriptions: []});
  assert(errors.length === 1 && errors[0].includes('sbx-devc.path'), errors.join());
  console.log('ok');
})().catch(err => { console.error(err); process.exit(1); });
