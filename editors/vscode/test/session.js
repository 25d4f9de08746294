'use strict';
// Runs extension.js as an editor would, against the real server: "node session.js PROGRAM".
// The editor and its client library are stand-ins that speak the real protocol.

const assert = require('assert');
const {spawn} = require('child_process');
const fs = require('fs');
const Module = require('module');
const os = require('os');
const path = require('path');
const {pathToFileURL} = require('url');

const program = process.argv[2];
const settings = {globalValue: program, workspaceValue: '/the/workspace/says/this'};
const errors = [];

const vscode = {
  workspace: {
    getConfiguration: () => ({inspect: () => settings}),
    createFileSystemWatcher: pattern => ({pattern, dispose() {}}),
  },
  window: {showErrorMessage: text => errors.push(text)},
};

let client;
class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, {server, options, came: [], wanted: [], buffer: Buffer.alloc(0), last: 0});
    client = this;
  }
  async start() {
    this.process = spawn(this.server.command, this.server.args, {stdio: ['pipe', 'pipe', 'inherit']});
    this.ended = new Promise((resolve, reject) => { this.process.on('exit', resolve); this.process.on('error', reject); });
    this.ended.catch(() => {});
    await new Promise((resolve, reject) => { this.process.on('spawn', resolve); this.process.on('error', reject); });
    this.process.stdout.on('data', data => this.read(data));
    await this.request('initialize', {processId: process.pid, rootUri: null, capabilities: {}});
    this.send({method: 'initialized', params: {}});
  }
  read(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const at = this.buffer.indexOf('\r\n\r\n');
      if (at < 0) return;
      const length = Number(/Content-Length: (\d+)/.exec(this.buffer.subarray(0, at))[1]);
      if (this.buffer.length < at + 4 + length) return;
      const message = JSON.parse(this.buffer.subarray(at + 4, at + 4 + length));
      this.buffer = this.buffer.subarray(at + 4 + length);
      const n = this.wanted.findIndex(w => w.is(message));
      if (n < 0) this.came.push(message);
      else this.wanted.splice(n, 1)[0].resolve(message);
    }
  }
  wait(is) {
    const n = this.came.findIndex(is);
    if (n >= 0) return Promise.resolve(this.came.splice(n, 1)[0]);
    return new Promise(resolve => this.wanted.push({is, resolve}));
  }
  send(message) {
    const body = Buffer.from(JSON.stringify({jsonrpc: '2.0', ...message}));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }
  request(method, params) {
    const id = ++this.last;
    this.send({id, method, params});
    return this.wait(m => m.id === id);
  }
  async stop() {
    await this.request('shutdown', null);
    this.send({method: 'exit'});
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
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sbx-devc-vscode-'));
  const uri = pathToFileURL(path.join(dir, '.devcontainer', 'devcontainer.json')).href;
  fs.mkdirSync(path.join(dir, '.devcontainer'));
  client.send({method: 'textDocument/didOpen', params: {textDocument: {uri, languageId: 'jsonc', version: 1, text: '{"image": "debian:13", "privileged": true}'}}});
  const shown = await client.wait(m => m.method === 'textDocument/publishDiagnostics' && m.params.uri === uri);
  assert(shown.params.diagnostics.some(d => d.code === 'SBX402'), JSON.stringify(shown.params));
  const code = await extension.deactivate();
  assert.strictEqual(code, 0, `the server ended with ${code}`);
  fs.rmSync(dir, {recursive: true});

  settings.globalValue = path.join(dir, 'nowhere');
  await extension.activate({subscriptions: []});
  assert(errors.length === 1 && errors[0].includes('sbx-devc.path'), errors.join());
  console.log('ok');
})().catch(err => { console.error(err); process.exit(1); });
