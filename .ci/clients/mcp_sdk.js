// Tests the client of the MCP SDK, which needs only the API's URL. Its function `auth` performs one step at a time and
// stores its state in a provider, here a plain object.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  auth,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { Member } from './member.js';

const BASE = process.argv[2];
const API = `${BASE}/api/v1`;
const ada = new Member();
const state = { redirects: 0 };

const provider = {
  redirectUrl: 'http://localhost:43119/callback',
  clientMetadata: {
    client_name: 'A tool of many uses',
    redirect_uris: ['http://localhost:43119/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => (state.state = randomUUID()),
  clientInformation: () => state.client,
  saveClientInformation: (client) => { state.client = client; },
  tokens: () => state.tokens,
  saveTokens: (tokens) => { state.tokens = tokens; },
  codeVerifier: () => state.verifier,
  saveCodeVerifier: (verifier) => { state.verifier = verifier; },
  invalidateCredentials: (what) => { if (what === 'tokens') delete state.tokens; else assert.fail(`${what} is lost`); },
  redirectToAuthorization: async (url) => {
    state.redirects += 1;
    state.response = (await ada.allow(url)).searchParams;
  },
};

const anonymous = await fetch(`${API}/organization`);
assert.equal(anonymous.status, 401);
const { resourceMetadataUrl } = extractWWWAuthenticateParams(anonymous);
const resource = await discoverOAuthProtectedResourceMetadata(API);
assert.deepEqual(await discoverOAuthProtectedResourceMetadata(API, { resourceMetadataUrl }), resource);
const server = await discoverAuthorizationServerMetadata(resource.authorization_servers[0]);
console.log(`found the metadata of ${resource.resource} from a 401 and from the URL alone`);

assert.equal(await auth(provider, { serverUrl: API }), 'REDIRECT');
assert.equal(state.response.get('state'), state.state);
assert.equal(state.response.get('iss'), server.issuer);
console.log(`registered as ${state.client.client_name}; the member allowed access`);

assert.equal(await auth(provider, { serverUrl: API, authorizationCode: state.response.get('code') }), 'AUTHORIZED');
assert.equal(await status(state.tokens), 200);
console.log('exchanged the code for tokens that work');

const before = state.tokens;
assert.equal(await auth(provider, { serverUrl: API }), 'AUTHORIZED');
assert.equal(await status(state.tokens), 200);
assert.equal(await status(before), 200);
assert.equal(state.redirects, 1);
console.log('refreshed without the member; the previous access token is valid for another minute');

const revoked = await fetch(server.revocation_endpoint, {
  method: 'POST',
  body: new URLSearchParams({ client_id: state.client.client_id, token: state.tokens.refresh_token }),
});
assert.equal(revoked.status, 200);
assert.equal(await status(state.tokens), 401);
console.log('revoked; the access token is rejected');

assert.equal(await auth(provider, { serverUrl: API }), 'REDIRECT');
assert.equal(await auth(provider, { serverUrl: API, authorizationCode: state.response.get('code') }), 'AUTHORIZED');
assert.equal(await status(state.tokens), 200);
assert.equal(state.redirects, 2);
console.log('the refresh token was also revoked, so the member was asked again and allowed access');

async function status({ access_token: token }) {
  const response = await fetch(`${API}/organization`, { headers: { authorization: `Bearer ${token}` } });
  return response.status;
}
