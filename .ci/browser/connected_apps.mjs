// Connected apps: OAuth from registration to revocation, for the application and for the member who allows it.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";

import { listen } from "./listener.mjs";

const PATH = "/dashboard/settings/integrations/connected-apps";
const SCOPE = "roles:read organization:read";

export async function visit({ service, open, step }) {
  const site = await listen();
  const visitor = await open();
  const { page } = visitor;
  visitor.elsewhere.add(site.origin()).add(site.origin("localhost"));
  const name = "Hiring <b>Helper</b>";

  await step("another site on the domain sets a cookie with an umlaut, which the following pages and forms get", async () => {
    await visitor.go("/");
    await page.evaluate(() => (document.cookie = "promo=Grüße; path=/"));
    assert.equal(await page.evaluate(() => document.cookie), "promo=Grüße");
  });

  const application = await step("an application registers", () =>
    // Without a port: a loopback redirect URI may use any port.
    Application.register(service, name, "http://127.0.0.1/callback", "http://localhost/callback"));

  await step("a signed-out member signs in first, and then sees the application and its permissions", async () => {
    await visitor.go(application.authorizeUrl(`${site.origin()}/callback`, SCOPE));
    assert.match(visitor.path(), /^\/dashboard\/sign-in/);
    await visitor.fillSignIn(service.acme.owner);
    assert.match(visitor.path(), /^\/oauth\/authorize/);
    const shown = await page.getByRole("main").innerText();
    for (const expected of [name, "127.0.0.1", service.acme.name, service.acme.owner.email]) {
      assert.ok(shown.includes(expected), `${expected} is not in: ${shown}`);
    }
    const scopes = page.getByRole("region", { name: "It will be able to" }).getByRole("listitem");
    assert.deepEqual(await scopes.allInnerTexts(), [
      "See roles, their statistics and job postings",
      "See the organization, its plan and its usage",
    ]);
  });

  await step("in the first second, Allow can be neither clicked nor focused", async () => {
    const reached = (time) =>
      page.locator("button[value=allow]").evaluate((button, time) => {
        // The time since the page was opened begins again, and stands still.
        button.style.animation = "none";
        button.getBoundingClientRect();
        button.style.animation = "";
        const [animation] = button.getAnimations();
        animation.pause();
        animation.currentTime = time;
        button.scrollIntoView();
        const { left, top, width, height } = button.getBoundingClientRect();
        const isClicked = document.elementFromPoint(left + width / 2, top + height / 2) === button;
        button.focus();
        const isFocused = document.activeElement === button;
        button.blur();
        animation.finish();
        return [isClicked, isFocused];
      }, time);
    assert.deepEqual(await reached(0), [false, false]);
    assert.deepEqual(await reached(999), [false, false]);
    assert.deepEqual(await reached(1000), [true, true]);
  });

  const tokens = await step("the application receives the code and exchanges it for tokens", async () => {
    await visitor.press("Allow");
    assert.ok(page.url().startsWith(`${site.origin()}/callback?code=`));
    const answer = site.visits.at(-1).searchParams;
    assert.equal(answer.get("state"), application.state);
    assert.equal(answer.get("iss"), service.base);
    return application.exchange(answer.get("code"), `${site.origin()}/callback`);
  });

  const row = page.getByRole("row").filter({ hasText: name });
  await step("the application is listed with its last use", async () => {
    await visitor.go(PATH);
    assert.match(await row.innerText(), /never/i);
    const called = await service.call(tokens.access_token, "GET", "/api/v1/roles");
    assert.equal(called.status, 200);
    assert.equal((await service.call(tokens.access_token, "GET", "/api/v1/candidates")).status, 403);
    await visitor.go(PATH);
    assert.match(await row.innerText(), /by Ada/);
    assert.doesNotMatch(await row.innerText(), /never/i);
  });

  await step("a revoked application is rejected at its next call", async () => {
    assert.equal(await visitor.pressWithin(`Revoke ${name}`, `Revoke ${name} now`), 303);
    assert.equal((await service.call(tokens.access_token, "GET", "/api/v1/roles")).status, 401);
    assert.equal((await application.refresh(tokens.refresh_token)).status, 400);
    assert.match(await page.getByRole("status").innerText(), /no longer has access/);
    assert.equal(await row.count(), 0);
  });

  await step("the application also receives a denial", async () => {
    await visitor.go(application.authorizeUrl(`${site.origin("localhost")}/callback`, SCOPE));
    await visitor.press("Deny");
    assert.ok(page.url().startsWith(`${site.origin("localhost")}/callback?`));
    const answer = site.visits.at(-1).searchParams;
    assert.equal(answer.get("error"), "access_denied");
    assert.equal(answer.get("state"), application.state);
    assert.equal(answer.get("code"), null);
  });

  await step("an application that is allowed to use test data gets only test data", async () => {
    await visitor.go(application.authorizeUrl(`${site.origin()}/callback`, SCOPE));
    await page.getByRole("radio", { name: "Test data" }).check();
    await visitor.press("Allow");
    const code = site.visits.at(-1).searchParams.get("code");
    const { access_token } = await application.exchange(code, `${site.origin()}/callback`);
    assert.equal((await service.call(access_token, "GET", "/api/v1/organization")).body.mode, "test");
    await visitor.go(PATH);
    assert.equal(await row.count(), 0);
    await visitor.press("Test");
    await visitor.go(PATH);
    assert.equal(await row.count(), 1);
    await visitor.press("Live");
  });

  await step("another person signs out, signs in, and sees the same consent page", async () => {
    const address = application.authorizeUrl(`${site.origin()}/callback`, SCOPE);
    await visitor.go(address);
    await visitor.press("Not you? Sign out");
    assert.match(visitor.path(), /^\/dashboard\/sign-in/);
    await visitor.fillSignIn(service.globex.owner);
    assert.equal(page.url(), address);
    assert.ok((await page.getByRole("main").innerText()).includes(service.globex.name));
  });

  await step("an unknown application or redirect URI gets an error page and no redirect", async () => {
    const before = site.visits.length;
    const stranger = application.authorizeUrl(`${site.origin()}/callback`, SCOPE).replace("rc_client_", "rc_client_x");
    assert.equal(await visitor.go(stranger), 400);
    assert.equal(await visitor.go(application.authorizeUrl(`${site.origin()}/elsewhere`, SCOPE)), 400);
    assert.equal(site.visits.length, before);
  });
}

/** A public client. It uses one PKCE verifier and one state for all its requests. */
export class Application {
  #verifier = randomBytes(32).toString("base64url");
  /** The `state` of its authorization requests. */
  state = randomBytes(9).toString("base64url");

  /** Registers a client with these redirect URIs. */
  static async register(service, name, ...addresses) {
    const application = new Application();
    application.service = service;
    const { client_id } = await service.create(null, "/oauth/registrations", {
      client_name: name,
      redirect_uris: addresses,
      token_endpoint_auth_method: "none",
    });
    application.id = client_id;
    return application;
  }

  /** Returns the URL of an authorization request. */
  authorizeUrl(address, scope) {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: this.id,
      redirect_uri: address,
      code_challenge: createHash("sha256").update(this.#verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: this.state,
      scope,
      resource: `${this.service.base}/api/v1`,
    });
    return `${this.service.base}/oauth/authorize?${query}`;
  }

  /** Exchanges a code for tokens. */
  async exchange(code, address) {
    const form = { grant_type: "authorization_code", code, redirect_uri: address, code_verifier: this.#verifier };
    const response = await this.#requestTokens(form);
    assert.equal(response.status, 200);
    return response.json();
  }

  /** Refreshes the tokens. */
  refresh(token) {
    return this.#requestTokens({ grant_type: "refresh_token", refresh_token: token });
  }

  #requestTokens(form) {
    const body = new URLSearchParams({ client_id: this.id, ...form });
    return fetch(`${this.service.base}/oauth/token`, { method: "POST", body });
  }
}
