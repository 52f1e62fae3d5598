// Tests openid-client, which needs only the server's URL. It sends the secret in the form, so it registers the method
// client_secret_post.

import assert from 'node:assert/strict';
import * as openid from 'openid-client';
import { Member } from './member.js';

const BASE = process.argv[2];
const API = `${BASE}/api/v1`;
const REDIRECT = 'http://127.0.0.1:43118/callback';

const config = await openid.dynamicClientRegistration(
  new URL(BASE),
  // The library sends the secret in the form by default.
  { client_name: 'openid-client', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'client_secret_post' },
  undefined,
  { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
);
console.log(`registered at ${config.serverMetadata().registration_endpoint}`);

const verifier = openid.randomPKCECodeVerifier();
const state = openid.randomState();
const url = openid.buildAuthorizationUrl(config, {
  redirect_uri: REDIRECT,
  code_challenge: await openid.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  resource: API,
  state,
});
const redirect = await new Member().allow(url);
const first = await openid.authorizationCodeGrant(
  config, redirect, { pkceCodeVerifier: verifier, expectedState: state }, { resource: API },
);
await use(first);
console.log(`exchanged the code for tokens that expire in ${first.expires_in} s`);

const second = await openid.refreshTokenGrant(config, first.refresh_token, { resource: API });
await use(second);
await use(first);
console.log('refreshed; the previous access token is still valid');

await openid.tokenRevocation(config, second.access_token);
await assertRejected(second);
const third = await openid.refreshTokenGrant(config, second.refresh_token);
await use(third);
console.log('revoked an access token; the refresh token still works');

await openid.tokenRevocation(config, third.refresh_token, { token_type_hint: 'refresh_token' });
await assertRejected(third);
console.log('revoked the refresh token; all tokens are rejected');

async function use(tokens) {
  const shown = await call(tokens, 'GET', 'organization');
  assert.equal((await shown.json()).name, 'Acme');
  const created = await call(tokens, 'POST', 'roles', { title: 'Lighthouse Keeper' });
  assert.equal(created.status, 201);
}

async function assertRejected(tokens) {
  await assert.rejects(call(tokens, 'GET', 'organization'), (error) => {
    assert(error instanceof openid.WWWAuthenticateChallengeError, error);
    assert.equal(error.cause[0].parameters.error, 'invalid_token');
    return true;
  });
}

function call({ access_token: token }, method, path, body) {
  const headers = new Headers(body && { 'content-type': 'application/json' });
  return openid.fetchProtectedResource(
    config, token, new URL(`${API}/${path}`), method, body && JSON.stringify(body), headers,
  );
}
