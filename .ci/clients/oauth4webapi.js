// Tests oauth4webapi, which checks every response against the RFCs: as a public client, with each method of client
// authentication, and with requests that the service rejects.

import assert from 'node:assert/strict';
import * as oauth from 'oauth4webapi';
import { Member } from './member.js';

const BASE = process.argv[2];
const API = new URL(`${BASE}/api/v1`);
const ORGANIZATION = new URL(`${API}/organization`);
const ROLES = new URL(`${API}/roles`);
// After registration, a loopback redirect URI may use any port.
const REGISTERED = 'http://127.0.0.1/callback';
const REDIRECT = 'http://127.0.0.1:43117/callback';
const HTTP = { [oauth.allowInsecureRequests]: true };

const ada = new Member();
const server = await discover();

for (const [method, authentication] of [
  ['none', oauth.None],
  ['client_secret_basic', oauth.ClientSecretBasic],
  ['client_secret_post', oauth.ClientSecretPost],
]) {
  const app = await register(method, authentication);
  const first = await exchange(app, await authorize(app, (url) => ada.allow(url)));
  await use(first.access_token);
  console.log(`${method}: exchanged the code; the token reads the organization and creates a role`);

  const second = await refresh(app, first.refresh_token);
  await use(second.access_token);
  await use(first.access_token);
  console.log(`${method}: refreshed; the previous access token is still valid`);

  const revocation = await oauth.revocationRequest(server, app.client, app.authentication, second.refresh_token, HTTP);
  await oauth.processRevocationResponse(revocation);
  await assertRejected(second.access_token);
  await assert.rejects(refresh(app, second.refresh_token), { error: 'invalid_grant' });
  console.log(`${method}: revoked the refresh token together with the access token`);
}

const app = await register('none', oauth.None);
await assert.rejects(authorize(app, (url) => ada.deny(url)), { error: 'access_denied' });
console.log('denied: the redirect has access_denied with state and issuer');

const reader = await exchange(app, await authorize(app, (url) => ada.allow(url), 'organization:read'));
assert.equal(reader.scope, 'organization:read');
assert.equal((await call(reader.access_token, 'GET', ORGANIZATION)).status, 200);
const rejection = await challenge(createRole(reader.access_token));
assert.equal(rejection.status, 403);
assert.equal(rejection.parameters.error, 'insufficient_scope');
assert.equal(rejection.parameters.scope, 'roles:write');
console.log('with organization:read only: 403 insufficient_scope requires roles:write');

// Discovers the API's metadata from a rejected call, and from there the authorization server.
async function discover() {
  const { status, parameters } = await challenge(call('not-a-token', 'GET', ORGANIZATION));
  assert.equal(status, 401);
  const response = await oauth.resourceDiscoveryRequest(API, HTTP);
  assert.equal(response.url, parameters.resource_metadata);
  const resource = await oauth.processResourceDiscoveryResponse(API, response);
  console.log(`the 401 names the resource metadata ${response.url}`);

  const issuer = new URL(resource.authorization_servers[0]);
  const discovery = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...HTTP });
  const metadata = await oauth.processDiscoveryResponse(issuer, discovery);
  console.log(`the resource metadata names the authorization server ${metadata.issuer}`);
  return metadata;
}

async function register(method, authentication) {
  const metadata = { client_name: `With ${method}`, redirect_uris: [REGISTERED], token_endpoint_auth_method: method };
  const response = await oauth.dynamicClientRegistrationRequest(server, metadata, HTTP);
  const client = await oauth.processDynamicClientRegistrationResponse(response);
  assert.equal(client.token_endpoint_auth_method, method);
  return { client, authentication: authentication(client.client_secret) };
}

// Requests authorization. Returns the validated response, and the verifier for the exchange.
async function authorize({ client }, decide, scope) {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: API.href,
    state,
    ...(scope && { scope }),
  });
  const redirect = await decide(url);
  assert.equal(redirect.origin + redirect.pathname, REDIRECT);
  return { verifier, answer: oauth.validateAuthResponse(server, client, redirect, state) };
}

async function exchange({ client, authentication }, { verifier, answer }) {
  const options = { ...HTTP, additionalParameters: { resource: API.href } };
  const response = await oauth.authorizationCodeGrantRequest(
    server, client, authentication, answer, REDIRECT, verifier, options,
  );
  return oauth.processAuthorizationCodeResponse(server, client, response);
}

async function refresh({ client, authentication }, token) {
  const response = await oauth.refreshTokenGrantRequest(server, client, authentication, token, HTTP);
  return oauth.processRefreshTokenResponse(server, client, response);
}

async function use(token) {
  assert.equal((await call(token, 'GET', ORGANIZATION)).status, 200);
  assert.equal((await createRole(token)).status, 201);
}

async function assertRejected(token) {
  const { status, parameters } = await challenge(call(token, 'GET', ORGANIZATION));
  assert.equal(status, 401);
  assert.equal(parameters.error, 'invalid_token');
}

function createRole(token) {
  const headers = new Headers({ 'content-type': 'application/json' });
  return call(token, 'POST', ROLES, headers, JSON.stringify({ title: 'Lighthouse Keeper' }));
}

function call(token, method, url, headers, body) {
  return oauth.protectedResourceRequest(token, method, url, headers, body, HTTP);
}

// Returns the status and the only challenge of a call that must be rejected.
async function challenge(call) {
  const error = await call.then(() => assert.fail('the call must be rejected'), (reason) => reason);
  assert(error instanceof oauth.WWWAuthenticateChallengeError, error);
  assert.deepEqual(error.cause.map(({ scheme }) => scheme), ['bearer']);
  return { status: error.status, parameters: error.cause[0].parameters };
}
