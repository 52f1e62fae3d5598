// Runs the conformance suite of the Model Context Protocol against the endpoint with the suite's fixtures, the generic
// scenarios against the product, and the Inspector's command line.
//
// Usage: node run.mjs ROLECALL MCP_FIXTURES

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { proxy } from './proxy.mjs';

const [rolecall, fixtures] = process.argv.slice(2).map((file) => path.resolve(file));
const bin = path.join(import.meta.dirname, 'node_modules/.bin');
const run = promisify(execFile);
const results = await mkdtemp(path.join(tmpdir(), 'mcp-'));

// Why a scenario does not apply.
const STREAMS = 'it needs a stream, and the endpoint answers with JSON';
const NOT_OFFERED = 'the capability is not offered';
const NOT_APPLICABLE = {
  '2026-07-28': {
    'tools-call-with-progress': STREAMS,
    'completion-complete': NOT_OFFERED,
  },
  '2025-11-25': {
    'tools-call-with-progress': STREAMS,
    'tools-call-with-logging': STREAMS,
    'tools-call-sampling': STREAMS,
    'tools-call-elicitation': STREAMS,
    'elicitation-sep1034-defaults': STREAMS,
    'elicitation-sep1330-enums': STREAMS,
    'server-sse-multiple-streams': STREAMS,
    'completion-complete': NOT_OFFERED,
    'logging-set-level': NOT_OFFERED,
    'resources-subscribe': NOT_OFFERED,
    'resources-unsubscribe': NOT_OFFERED,
  },
};
// Scenarios that need no fixtures, and run against the product, too.
const GENERIC = {
  '2026-07-28': ['tools-list', 'dns-rebinding-protection', 'sep-2164-resource-not-found', 'prompts-list'],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection', 'prompts-list'],
};

const children = [];
try {
  const [address, origin, key] = (await start(fixtures, [])).split(' ');
  const endpoint = `${await proxy(address, origin, key)}/mcp`;
  const args = ['--memory', '--port', '0', '--template', path.join(import.meta.dirname, '../../template.yaml')];
  const base = (await start(rolecall, args)).split(' ')[1];
  const product = `${await proxy(base, base, key)}/mcp`;
  for (const revision of Object.keys(NOT_APPLICABLE)) {
    await judge(endpoint, revision);
    for (const scenario of GENERIC[revision]) {
      await conformance(['--url', product, '--scenario', scenario, '--spec-version', revision], scenario);
    }
    console.log(`${revision}: ${GENERIC[revision].length} generic scenarios passed against the product`);
  }
  await inspect(base, key);
} finally {
  children.forEach((child) => child.kill());
  await rm(results, { recursive: true });
}

// Starts a service, and returns the first line of its output.
async function start(command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return line;
  }
  throw new Error(`${command} has not started`);
}

// Runs all scenarios that a revision requires. Those that do not apply must fail, so that the list stays current.
async function judge(url, revision) {
  const output = await conformance(['--url', url, '--requirements', revision]);
  const failed = new Set([...output.matchAll(/^[✗x]\s+([a-z0-9-]+)/gm)].map(([, scenario]) => scenario));
  // Extensions and scenarios that came after the revision are run, but not scored.
  for (const [, scenario] of output.matchAll(/^\s+[✗✓] ([a-z0-9-]+) \(/gm)) {
    failed.delete(scenario);
  }
  const expected = Object.keys(NOT_APPLICABLE[revision]);
  const unexpected = [...failed].filter((scenario) => !expected.includes(scenario));
  assert.deepEqual(unexpected, [], `${revision}: ${output}`);
  console.log(`${revision}: all scenarios passed, except those that do not apply:`);
  for (const scenario of failed) {
    console.log(`  ${scenario}: ${NOT_APPLICABLE[revision][scenario]}`);
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

// The Inspector's command line lists the tools and calls one.
async function inspect(base, key) {
  const inspector = async (...args) => {
    const target = [`${base}/mcp`, '--cli', '--transport', 'http', '--header', `Authorization: Bearer ${key}`];
    const command = [path.join(bin, 'mcp-inspector'), ...target, ...args];
    const { stdout } = await run(path.join(bin, 'node'), command, { timeout: 60_000 });
    return JSON.parse(stdout);
  };
  const { tools } = await inspector('--method', 'tools/list');
  assert(tools.some((tool) => tool.name === 'list_roles'));
  const result = await inspector('--method', 'tools/call', '--tool-name', 'list_roles');
  assert.equal(result.isError ?? false, false);
  console.log(`Inspector: listed ${tools.length} tools and called list_roles`);
}
