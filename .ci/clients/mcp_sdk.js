// The client of MCP's SDK knows nothing but the API's address. `auth` takes one step at a time, and keeps what it must
// remember in a provider; ours is a plain object.

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
const kept = { redirects: 0 };

const provider = {
  redirectUrl: 'http://localhost:43119/callback',
  clientMetadata: {
    client_name: 'A tool of many uses',
    redirect_uris: ['http://localhost:43119/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => (kept.state = randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  invalidateCredentials: (what) => { if (what === 'tokens') delete kept.tokens; else assert.fail(`${what} is lost`); },
  redirectToAuthorization: async (address) => {
    kept.redirects += 1;
    kept.answer = (await ada.allow(address)).searchParams;
  },
};

const anonymous = await fetch(`${API}/organization`);
assert.equal(anonymous.status, 401);
const { resourceMetadataUrl } = extractWWWAuthenticateParams(anonymous);
const resource = await discoverOAuthProtectedResourceMetadata(API);
assert.deepEqual(await discoverOAuthProtectedResourceMetadata(API, { resourceMetadataUrl }), resource);
const server = await discoverAuthorizationServerMetadata(resource.authorization_servers[0]);
console.log(`the metadata of ${resource.resource} is found from a 401, and from the address alone`);

assert.equal(await auth(provider, { serverUrl: API }), 'REDIRECT');
assert.equal(kept.answer.get('state'), kept.state);
assert.equal(kept.answer.get('iss'), server.issuer);
console.log(`registered as ${kept.client.client_name}, and allowed`);

assert.equal(await auth(provider, { serverUrl: API, authorizationCode: kept.answer.get('code') }), 'AUTHORIZED');
assert.equal(await status(kept.tokens), 200);
console.log('the code brings tokens, and they are good');

const before = kept.tokens;
assert.equal(await auth(provider, { serverUrl: API }), 'AUTHORIZED');
assert.equal(await status(kept.tokens), 200);
assert.equal(await status(before), 401);
assert.equal(kept.redirects, 1);
console.log('refreshed without the member; the access token before is refused');

const revoked = await fetch(server.revocation_endpoint, {
  method: 'POST',
  body: new URLSearchParams({ client_id: kept.client.client_id, token: kept.tokens.refresh_token }),
});
assert.equal(revoked.status, 200);
assert.equal(await status(kept.tokens), 401);
console.log('revoked; the access token is refused');

assert.equal(await auth(provider, { serverUrl: API }), 'REDIRECT');
assert.equal(await auth(provider, { serverUrl: API, authorizationCode: kept.answer.get('code') }), 'AUTHORIZED');
assert.equal(await status(kept.tokens), 200);
assert.equal(kept.redirects, 2);
console.log('the refresh token is no good either, so the member is asked again, and allows');

async function status({ access_token: token }) {
  const response = await fetch(`${API}/organization`, { headers: { authorization: `Bearer ${token}` } });
  return response.status;
}
