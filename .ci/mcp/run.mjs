// Runs the conformance suite of the Model Context Protocol against the endpoint with the suite's fixtures, its generic
// scenarios and its scenarios of authorization against the product, and the Inspector's command line.
//
// Usage: node run.mjs ROLECALL MCP_FIXTURES

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Member } from '../clients/member.js';
import { proxy } from './proxy.mjs';

const [rolecall, fixtures] = process.argv.slice(2).map((file) => path.resolve(file));
const bin = path.join(import.meta.dirname, 'node_modules/.bin');
const run = promisify(execFile);
const results = await mkdtemp(path.join(tmpdir(), 'mcp-'));

// Why a scenario does not apply. The endpoint has neither sessions nor streams: each message has one JSON answer.
const PROGRESS = 'progress is reported on a stream';
const COMPLETION = 'nothing can be completed: the arguments of prompts are identifiers';
const LOGGING = 'log messages are sent on a stream';
const REQUESTS = 'requests to the client are sent on a stream; 2026-07-28 has them in results';
const SUBSCRIPTIONS = 'changes of resources are reported on a stream';
const STREAMS = 'the suite checks only endpoints that answer with streams';
const NOT_APPLICABLE = {
  '2026-07-28': {
    'completion-complete': COMPLETION,
    'tools-call-with-progress': PROGRESS,
  },
  '2025-11-25': {
    'completion-complete': COMPLETION,
    'elicitation-sep1034-defaults': REQUESTS,
    'elicitation-sep1330-enums': REQUESTS,
    'logging-set-level': LOGGING,
    'resources-subscribe': SUBSCRIPTIONS,
    'resources-unsubscribe': SUBSCRIPTIONS,
    'server-sse-multiple-streams': STREAMS,
    'tools-call-elicitation': REQUESTS,
    'tools-call-sampling': REQUESTS,
    'tools-call-with-logging': LOGGING,
    'tools-call-with-progress': PROGRESS,
  },
};
// Scenarios that need no fixtures, and run against the product, too.
const GENERIC = {
  '2026-07-28': ['tools-list', 'dns-rebinding-protection', 'sep-2164-resource-not-found', 'prompts-list'],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection', 'prompts-list'],
};

const children = [];
let logs = '';
try {
  const [address, origin, key] = (await start(fixtures, [])).split(' ');
  const endpoint = `${await proxy(address, origin, key)}/mcp`;
  const base = (await start(rolecall, ['--memory', '--port', '0'])).split(/\s+/)[1];
  const product = `${await proxy(base, base, key)}/mcp`;
  for (const revision of Object.keys(NOT_APPLICABLE)) {
    await judge(endpoint, revision);
    for (const scenario of GENERIC[revision]) {
      await conformance(['--url', product, '--scenario', scenario, '--spec-version', revision], scenario);
    }
    console.log(`${revision}: ${GENERIC[revision].length} generic scenarios passed against the product`);
  }
  await authorize(base);
  await inspect(base, key);
} catch (error) {
  console.error(logs);
  throw error;
} finally {
  children.forEach((child) => child.kill());
  await rm(results, { recursive: true });
}

// Starts a service, and returns the first line of its output.
async function start(command, args) {
  const child = spawn(command, args);
  children.push(child);
  child.stderr.on('data', (data) => { logs += data; });
  for await (const line of createInterface({ input: child.stdout })) {
    return line;
  }
  throw new Error(`${command} has not started`);
}

// Runs all scenarios that a revision requires. Those that do not apply must fail or check nothing, so that the list stays
// current.
async function judge(url, revision) {
  const output = await conformance(['--url', url, '--requirements', revision]);
  const scenarios = new Map();
  for (const [, scenario, passed, failed] of output.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)) {
    scenarios.set(scenario, passed !== '0' && failed === '0');
  }
  // Extensions and scenarios that came after the revision are run, but not scored.
  for (const [, scenario] of output.matchAll(/^\s+[✓✗] (\S+) \(/gm)) {
    scenarios.delete(scenario);
  }
  const names = [...scenarios.keys()].sort();
  const expected = NOT_APPLICABLE[revision];
  assert.deepEqual(names.filter((name) => !scenarios.get(name)), Object.keys(expected), `${revision}: ${output}`);
  const passed = names.length - Object.keys(expected).length;
  console.log(`${revision}: ${passed} of ${names.length} scenarios passed. These do not apply:`);
  for (const [scenario, reason] of Object.entries(expected)) {
    console.log(`  ${scenario}: ${reason}`);
  }
}

// Runs the suite. With the name of a scenario, it must pass.
async function conformance(args, scenario) {
  const command = [path.join(bin, 'conformance'), 'server', ...args, '-o', results];
  try {
    const { stdout, stderr } = await run(path.join(bin, 'node'), command, { maxBuffer: 1 << 26 });
    return stdout + stderr;
  } catch (error) {
    assert.equal(scenario, undefined, `${scenario}: ${error.stdout}${error.stderr}`);
    return error.stdout + error.stderr;
  }
}

// Runs the scenarios of authorization servers. A member answers the consent page that the suite asks to open.
async function authorize(base) {
  const port = await freePort();
  const registered = await fetch(`${base}/oauth/registrations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Conformance',
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id: client } = await registered.json();
  const resource = ['--client-id', client, '--resource', `${base}/mcp`, '--port', port];
  const args = ['authorization', '--url', base, ...resource, '-o', results];
  const child = spawn(path.join(bin, 'node'), [path.join(bin, 'conformance'), ...args]);
  children.push(child);
  let output = '';
  child.stderr.on('data', (data) => { output += data; });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    output += `${line}\n`;
    if (line.startsWith(`${base}/oauth/authorize?`)) {
      await fetch(await new Member().allow(line));
    }
  }
  assert.equal(await ended, 0, output);
  assert(!/skipped/i.test(output), output);
  const passed = output.match(/^✓ /gm).length;
  console.log(`authorization: ${passed} scenarios passed`);
}

// A port that is free now.
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// The Inspector's command line lists the tools and calls one, in each era.
async function inspect(base, key) {
  for (const era of ['legacy', 'modern']) {
    const inspector = async (...args) => {
      const target = ['--cli', '--server-url', `${base}/mcp`, '--transport', 'http', '--protocol-era', era];
      const command = [path.join(bin, 'mcp-inspector'), ...target, '--header', `Authorization: Bearer ${key}`, ...args];
      const { stdout } = await run(path.join(bin, 'node'), command, { timeout: 300_000 });
      return JSON.parse(stdout);
    };
    const { tools } = await inspector('--method', 'tools/list');
    const result = await inspector('--method', 'tools/call', '--tool-name', 'list_roles');
    assert.equal(result.isError ?? false, false);
    assert.deepEqual(result.structuredContent.roles, []);
    console.log(`Inspector, ${era} era: listed ${tools.length} tools and called list_roles`);
  }
}
