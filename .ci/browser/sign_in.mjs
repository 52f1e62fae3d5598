// Signing in and out, and the cookie that does it.

import assert from "node:assert/strict";

import { COOKIE } from "./visitor.mjs";

/** Ways back that are none. */
const FAR = [
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

  await step("a wrong password is refused above the form with 401, and the e-mail address is kept", async () => {
    assert.equal(await visitor.go("/dashboard/candidates?stage=offer"), 200);
    assert.match(visitor.path(), /^\/dashboard\/sign-in\?/);
    stranger = await visitor.cookie();
    assert.equal(await visitor.fillSignIn({ ...owner, password: "not the password" }), 401);
    const alert = page.getByRole("alert");
    assert.match(await alert.innerText(), /is not right/);
    const [message, form] = await Promise.all([alert.boundingBox(), page.locator("form").boundingBox()]);
    assert.ok(message.y + message.height <= form.y, "the message stands above the form");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), owner.email);
    assert.equal(await page.getByLabel("Password").inputValue(), "");
  });

  await step("an unknown e-mail address is refused in the same words", async () => {
    const words = await page.getByRole("alert").innerText();
    assert.equal(await visitor.fillSignIn({ email: "nobody@acme.example", password: owner.password }), 401);
    assert.equal(await page.getByRole("alert").innerText(), words);
  });

  await step("the right password leads to the page that was wanted", async () => {
    assert.equal(await visitor.fillSignIn(owner), 303);
    assert.equal(visitor.path(), "/dashboard/candidates?stage=offer");
    assert.ok(await page.getByText(organization, { exact: true }).isVisible());
  });

  await step("the cookie is for this host only, over secure connections, and out of scripts' reach", async () => {
    const cookie = await visitor.cookie();
    assert.notEqual(cookie.value, stranger.value, "sign-in changes the value");
    const { httpOnly, secure, sameSite, path, domain } = cookie;
    assert.deepEqual(
      { httpOnly, secure, sameSite, path, domain },
      { httpOnly: true, secure: true, sameSite: "Lax", path: "/", domain: new URL(service.base).hostname },
    );
  });

  await step("signing out ends the session itself, not only the cookie", async () => {
    const { value } = await visitor.cookie();
    assert.equal(await opens(service, value), true);
    assert.equal(await visitor.press("Sign out"), 303);
    assert.match(await page.getByRole("status").innerText(), /signed out/);
    assert.equal(await opens(service, value), false);
  });

  await step("a planted cookie signs nobody in, and is replaced at sign-in", async () => {
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

  await step("the way back after sign-in leads to no other site", async () => {
    for (const far of FAR) {
      await visitor.go(`/dashboard/sign-in?return_to=${encodeURIComponent(far)}`);
      assert.equal(await page.locator("input[name=return_to]").inputValue(), "/dashboard", far);
    }
    await page.locator("input[name=return_to]").evaluate((field, far) => (field.value = far), FAR[0]);
    assert.equal(await visitor.fillSignIn(owner), 303);
    assert.equal(page.url(), `${service.base}/dashboard`);
  });

  await step("a form that is sent when the session has ended leads, by way of sign-in, to a page", async () => {
    const { value } = await visitor.cookie();
    await signOut(service, value, await visitor.formToken());
    assert.equal(await visitor.press("Test"), 303);
    assert.match(visitor.path(), /^\/dashboard\/sign-in/);
    assert.equal(await visitor.fillSignIn(owner), 303);
    assert.ok(await page.getByRole("navigation", { name: "Dashboard" }).isVisible(), page.url());
  });
}

/** Gives the visitor a cookie, as somebody with the browser in hands would. */
async function plant(visitor, value) {
  const session = await visitor.context.newCDPSession(visitor.page);
  const url = visitor.service.base.replace("http:", "https:");
  await session.send("Network.setCookie", { name: COOKIE, value, url, path: "/", secure: true, httpOnly: true });
  assert.equal((await visitor.cookie()).value, value);
}

/** Whether this cookie opens the dashboard. */
async function opens(service, cookie) {
  const headers = { cookie: `${COOKIE}=${cookie}` };
  const { status } = await fetch(`${service.base}/dashboard`, { headers, redirect: "manual" });
  return status === 200;
}

/** Ends a session behind its browser's back. */
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
