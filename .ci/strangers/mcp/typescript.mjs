// Runs TypeScript's clients of the Model Context Protocol from nothing but the address: today's SDK, the client of the
// modern era, and mcp-remote, which hosts without OAuth start as a program.
//
// Prints a row of the table for each.
//
// Usage: node typescript.mjs MCP_URL TOOLS

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as modern from '@modelcontextprotocol/client';
import { auth as legacyAuth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Member } from '../../clients/member.js';

const url = new URL(process.argv[2]);
const REDIRECT = 'http://127.0.0.1:43120/callback';
const INFO = { name: 'A desktop host', version: '1.0.0' };
const MODULES = path.join(import.meta.dirname, '../node_modules');

// The two clients. Only the modern one can be asked without a stream.
const ERAS = {
  '2025-11-25': {
    module: '@modelcontextprotocol/sdk',
    auth: legacyAuth,
    Unauthorized: UnauthorizedError,
    client: () => new LegacyClient(INFO),
    transport: (options) => new LegacyTransport(url, options),
    finish: (transport, redirect) => transport.finishAuth(redirect.searchParams.get('code')),
    revision: (_, transport) => transport.protocolVersion,
    asksItself: false,
  },
  '2026-07-28': {
    module: '@modelcontextprotocol/client',
    auth: modern.auth,
    Unauthorized: modern.UnauthorizedError,
    client: () => new modern.Client(INFO, {
      capabilities: { elicitation: {} },
      versionNegotiation: { mode: 'auto' },
    }),
    transport: (options) => new modern.StreamableHTTPClientTransport(url, options),
    finish: (transport, redirect) => transport.finishAuth(redirect.searchParams),
    revision: (client) => client.getNegotiatedProtocolVersion(),
    asksItself: true,
  },
};

for (const [revision, era] of Object.entries(ERAS)) {
  await connectAndWork(revision, era);
}
await remote();

async function connectAndWork(revision, era) {
  const member = new Member();
  const { provider, state } = authorization(member);
  const connect = async () => {
    const [client, transport] = [era.client(), era.transport({ authProvider: provider })];
    const questions = [];
    if (era.asksItself) {
      client.setRequestHandler('elicitation/create', ({ params }) => {
        questions.push(params.message);
        return { action: 'accept', content: { confirm: true } };
      });
    }
    try {
      await client.connect(transport);
    } catch (error) {
      assert(error instanceof era.Unauthorized, error);
      await era.finish(transport, state.redirect);
      return connect();
    }
    assert.equal(era.revision(client, transport), revision);
    return { client, questions };
  };

  const { client, questions } = await connect();
  assert.equal(state.redirects, 1);
  const { tools } = await client.listTools();
  const way = await work(client, questions, member);

  const before = state.tokens.access_token;
  assert.equal(await era.auth(provider, { serverUrl: url }), 'AUTHORIZED');
  assert.notEqual(state.tokens.access_token, before);
  await call(client, 'list_roles', {});
  assert.equal(state.redirects, 1, 'a refresh does not need the member');
  const revoked = await fetch(new URL('/oauth/revoke', url), {
    method: 'POST',
    body: new URLSearchParams({ client_id: state.client.client_id, token: state.tokens.refresh_token }),
  });
  assert.equal(revoked.status, 200);
  await assert.rejects(client.callTool({ name: 'list_roles', arguments: {} }), era.Unauthorized);
  assert.equal(state.redirects, 2, 'after the revocation, the member is asked again');
  await client.close();
  await row(era.module, revision, tools, way);
}

// mcp-remote is a server on its standard input and output. It opens a browser, which is browser.mjs here.
async function remote() {
  const folder = await mkdtemp(path.join(tmpdir(), 'mcp-remote-'));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [path.join(MODULES, 'mcp-remote/dist/proxy.js'), url.href],
    env: {
      ...process.env,
      BROWSER: path.join(import.meta.dirname, 'browser.mjs'),
      MCP_REMOTE_CONFIG_DIR: folder,
    },
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr.on('data', (data) => { log += data; });
  const client = new LegacyClient(INFO);
  try {
    await client.connect(transport);
    const { tools } = await client.listTools();
    const way = await work(client, [], new Member());
    await row('mcp-remote', '2025-11-25', tools, way);
  } catch (error) {
    console.error(log);
    throw error;
  } finally {
    await client.close();
    await rm(folder, { recursive: true });
  }
}

// Reads, is refused, and does what must be confirmed. Returns how it was confirmed.
async function work(client, questions, member) {
  const { roles } = await call(client, 'list_roles', {});
  assert(Array.isArray(roles));
  const refused = await client.callTool({ name: 'get_candidate', arguments: { candidate_id: 1 } });
  assert(refused.isError);
  assert.match(refused.content[0].text, /no such record/);
  const person = { name: 'Grace Hopper', email: `${randomUUID()}@example.com` };
  const { id: candidate } = await call(client, 'add_candidate', person);
  const reject = { candidate_id: candidate, action: 'reject', reason: 'Prefers ships' };
  const asked = await client.callTool({ name: 'move_candidate', arguments: reject });
  if (questions.length > 0) {
    assert.equal(asked.structuredContent.stage, 'rejected');
    return 'in a form';
  }
  assert(asked.isError);
  const [page] = asked.content[0].text.match(/http\S+\/dashboard\/confirmations\/[\w.~-]+/);
  await member.confirm(page);
  assert.equal((await call(client, 'move_candidate', reject)).stage, 'rejected');
  return 'on a page';
}

async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  return result.structuredContent;
}

async function row(module, revision, tools, way) {
  assert.equal(tools.length, Number(process.argv[3]));
  const { version } = JSON.parse(await readFile(path.join(MODULES, module, 'package.json')));
  console.log(
    module.padEnd(30), version.padEnd(8), revision.padEnd(11), String(tools.length).padStart(5), '', way,
  );
}

// What a client keeps about the service, and the member who answers the consent page.
function authorization(member) {
  const state = { redirects: 0 };
  const provider = {
    redirectUrl: REDIRECT,
    // All that a client says about itself if it knows only the address.
    clientMetadata: {
      client_name: INFO.name,
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => state.client,
    saveClientInformation: (client) => { state.client = client; },
    tokens: () => state.tokens,
    saveTokens: (tokens) => { state.tokens = tokens; },
    discoveryState: () => state.discovery,
    saveDiscoveryState: (discovery) => { state.discovery = discovery; },
    codeVerifier: () => state.verifier,
    saveCodeVerifier: (verifier) => { state.verifier = verifier; },
    invalidateCredentials: () => { delete state.tokens; },
    redirectToAuthorization: async (address) => {
      state.redirects += 1;
      state.redirect = await member.allow(address);
    },
  };
  return { provider, state };
}
