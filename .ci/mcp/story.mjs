// What a host does with the SDK's client, from nothing but the address: it registers, the member allows the access, and the
// assistant does the team's work. Runs once with today's client, and once with the client of the modern era.

import assert from 'node:assert/strict';
import * as modern from '@modelcontextprotocol/client';
import { auth as legacyAuth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Member } from '../clients/member.js';

const REDIRECT = 'http://127.0.0.1:43120/callback';
const INFO = { name: 'story', version: '1.0.0' };

// The two clients. Each has its own way to ask the member for a confirmation.
const ERAS = {
  '2025-11-25': {
    auth: legacyAuth,
    Unauthorized: UnauthorizedError,
    client: () => new LegacyClient(INFO),
    transport: (url, options) => new LegacyTransport(url, options),
    finish: (transport, redirect) => transport.finishAuth(redirect.searchParams.get('code')),
    revision: (_, transport) => transport.protocolVersion,
    asksItself: false,
  },
  '2026-07-28': {
    auth: modern.auth,
    Unauthorized: modern.UnauthorizedError,
    client: () => new modern.Client(INFO, {
      capabilities: { elicitation: {} },
      versionNegotiation: { mode: 'auto' },
    }),
    transport: (url, options) => new modern.StreamableHTTPClientTransport(url, options),
    finish: (transport, redirect) => transport.finishAuth(redirect.searchParams),
    revision: (client) => client.getNegotiatedProtocolVersion(),
    asksItself: true,
  },
};

export async function story(base) {
  for (const [revision, era] of Object.entries(ERAS)) {
    await work(new URL(`${base}/mcp`), revision, era);
  }
}

async function work(url, revision, era) {
  const ada = new Member();
  const { provider, state } = authorization(ada);
  const connect = async () => {
    const [client, transport] = [era.client(), era.transport(url, { authProvider: provider })];
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
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    return result.structuredContent;
  };
  const { tools } = await client.listTools();
  assert.equal(tools.length, 14);
  console.log(`${revision}: registered, allowed by the member, and listed ${tools.length} tools`);

  const { role_id: role } = await call('quick_post', { role: { title: 'Pastry chef' } });
  const person = { name: 'Grace Hopper', email: `grace.${revision}@example.com`, role_id: role };
  const { id: candidate } = await call('add_candidate', person);
  await call('move_candidate', { candidate_id: candidate, action: 'advance', stage: 'interview' });
  const reject = { candidate_id: candidate, action: 'reject', reason: 'Prefers ships' };
  if (!era.asksItself) {
    const asked = await client.callTool({ name: 'move_candidate', arguments: reject });
    assert(asked.isError);
    const [link] = asked.content[0].text.match(/http\S+\/dashboard\/confirmations\/\S+/);
    await ada.confirm(link);
  }
  assert.equal((await call('move_candidate', reject)).stage, 'rejected');
  assert.equal(questions.length, era.asksItself ? 1 : 0);
  const { stages } = await call('pipeline_report', { role_id: role });
  assert.equal(stages.rejected.now, 1);
  console.log(`${revision}: posted a role, moved a candidate with the member's confirmation, and reported`);

  const before = state.tokens.access_token;
  assert.equal(await era.auth(provider, { serverUrl: url }), 'AUTHORIZED');
  assert.notEqual(state.tokens.access_token, before);
  await call('list_roles', {});
  assert.equal(state.redirects, 1);
  const revoked = await fetch(new URL('/oauth/revoke', url), {
    method: 'POST',
    body: new URLSearchParams({ client_id: state.client.client_id, token: state.tokens.refresh_token }),
  });
  assert.equal(revoked.status, 200);
  await assert.rejects(client.callTool({ name: 'list_roles', arguments: {} }), era.Unauthorized);
  assert.equal(state.redirects, 2);
  await client.close();
  console.log(`${revision}: refreshed; after the revocation, the member is asked again`);
}

// What a client keeps about the service, and the member who answers the consent page.
function authorization(member) {
  const state = { redirects: 0 };
  const provider = {
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: 'A desktop host',
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
    redirectToAuthorization: async (url) => {
      state.redirects += 1;
      state.redirect = await member.allow(url);
    },
  };
  return { provider, state };
}
