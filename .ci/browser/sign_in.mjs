// Sign-in, sign-out and the session cookie.

import assert from "node:assert/strict";

import { COOKIE } from "./visitor.mjs";

/** Values of `return_to` that are not accepted. */
const FOREIGN = [
  "https://evil.example/",
  "//evil.example",
  "/\\evil.example",
  "/dashboard.evil.example",
  "javascript:alert(1)",
];

export async function visit({ service, open, step }, options) {
  const { owner, name: organization } = service.acme;
  const visitor = await open(options);
  const { page } = visitor;
  let stranger;

  await step("a wrong password gets 401 with a message above the form, and the e-mail address is kept", async () => {
    assert.equal(await visitor.go("/dashboard/candidates?stage=offer"), 200);
    assert.match(visitor.path(), /^\/dashboard\/sign-in\?/);
    stranger = await visitor.cookie();
    assert.equal(await visitor.fillSignIn({ ...owner, password: "not the password" }), 401);
    const alert = page.getByRole("alert");
    assert.match(await alert.innerText(), /Incorrect/);
    const [message, form] = await Promise.all([alert.boundingBox(), page.locator("form").boundingBox()]);
    assert.ok(message.y + message.height <= form.y, "the message is above the form");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), owner.email);
    assert.equal(await page.getByLabel("Password").inputValue(), "");
  });

  await step("an unknown e-mail address gets the same message", async () => {
    const message = await page.getByRole("alert").innerText();
    assert.equal(await visitor.fillSignIn({ email: "nobody@acme.example", password: owner.password }), 401);
    assert.equal(await page.getByRole("alert").innerText(), message);
  });

  await step("the right password leads to the requested page", async () => {
    assert.equal(await visitor.fillSignIn(owner), 303);
    assert.equal(visitor.path(), "/dashboard/candidates?stage=offer");
    assert.ok(await page.getByText(organization, { exact: true }).isVisible());
  });

  await step("the cookie is HttpOnly and for this host only, and works without TLS", async () => {
    const cookie = await visitor.cookie();
    assert.notEqual(cookie.value, stranger.value, "sign-in replaces the cookie");
    const { httpOnly, secure, sameSite, path, domain } = cookie;
    assert.deepEqual(
      { httpOnly, secure, sameSite, path, domain },
      { httpOnly: true, secure: false, sameSite: "Lax", path: "/", domain: new URL(service.base).hostname },
    );
  });

  await step("signing out ends the session on the server, too", async () => {
    const { value } = await visitor.cookie();
    assert.equal(await opens(service, value), true);
    assert.equal(await visitor.press("Sign out"), 303);
    assert.match(await page.getByRole("status").innerText(), /signed out/);
    assert.equal(await opens(service, value), false);
  });

  await step("a planted cookie opens no session and is replaced at sign-in", async () => {
    const session = await someSession(service, open, options);
    for (const planted of ["a-value-that-somebody-planted", `${session.slice(0, -8)}AAAAAAAA`]) {
      const victim = await open(options);
      await plant(victim, planted);
      assert.ok(await victim.isSignedOut());
      await victim.signIn(owner);
      assert.notEqual((await victim.cookie()).value, planted);
      assert.equal(await opens(service, planted), false);
    }
  });

  await step("sign-in never redirects to another site", async () => {
    for (const foreign of FOREIGN) {
      await visitor.go(`/dashboard/sign-in?return_to=${encodeURIComponent(foreign)}`);
      assert.equal(await page.locator("input[name=return_to]").inputValue(), "/dashboard", foreign);
    }
    await page.locator("input[name=return_to]").evaluate((field, foreign) => (field.value = foreign), FOREIGN[0]);
    assert.equal(await visitor.fillSignIn(owner), 303);
    assert.equal(page.url(), `${service.base}/dashboard`);
  });

  await step("a form submitted after the session has ended waits for a sign-in", async () => {
    const { value } = await visitor.cookie();
    await signOut(service, value, await visitor.formToken());
    assert.equal(await visitor.press("Test"), 401);
    assert.ok(await page.getByText("Your session has ended.").isVisible());
    assert.equal(await visitor.fillSignIn(owner), 307);
    assert.ok(await page.getByText("Test data.").isVisible(), page.url());
    assert.equal(await visitor.press("Live"), 303);
  });

  await step("a note typed before the session ended is saved once after a wrong and the right password", async () => {
    const note = "She said: \"call me\" <b>tomorrow</b>\nGrüße";
    const person = { name: "Jane Doe", email: "jane@people.example" };
    const { body } = await service.call(service.acme.live, "POST", "/api/v1/candidates", person);
    const candidate = `/dashboard/candidates/${body.id}`;
    await visitor.go(candidate);
    await page.getByLabel("New note").fill(note);
    await visitor.context.clearCookies();
    assert.equal(await visitor.press("Add note"), 401);
    assert.equal(await page.getByLabel("E-mail address").inputValue(), owner.email);
    assert.equal(await visitor.fillSignIn({ ...owner, password: "not the password" }), 401);
    await page.getByText("What you typed", { exact: true }).click();
    assert.equal(await page.getByLabel("Text", { exact: true }).inputValue(), note);
    assert.equal(await visitor.fillSignIn(owner), 307);
    assert.equal(new URL(page.url()).pathname, candidate);
    assert.ok(await page.getByText("Note added.").isVisible());
    assert.equal(await page.locator(".note").getByText("She said:").count(), 1);
  });
}

/** Sets a cookie in the visitor's browser, as an attacker with access to it could. */
async function plant(visitor, value) {
  const session = await visitor.context.newCDPSession(visitor.page);
  const url = visitor.base;
  await session.send("Network.setCookie", { name: COOKIE, value, url, path: "/", httpOnly: true });
  assert.equal((await visitor.cookie()).value, value);
}

/** Returns whether the cookie opens the dashboard. */
async function opens(service, cookie) {
  const headers = { cookie: `${COOKIE}=${cookie}` };
  const { status } = await fetch(`${service.base}/dashboard`, { headers, redirect: "manual" });
  return status === 200;
}

/** Ends a session from outside its browser. */
async function signOut(service, cookie, csrf) {
  await fetch(`${service.base}/dashboard/sign-out`, {
    method: "POST",
    headers: { cookie: `${COOKIE}=${cookie}` },
    body: new URLSearchParams({ csrf }),
    redirect: "manual",
  });
  assert.equal(await opens(service, cookie), false);
}

async function someSession(service, open, options) {
  const visitor = await open(options);
  await visitor.signIn(service.globex.owner);
  return (await visitor.cookie()).value;
}
