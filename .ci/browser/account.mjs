// The member's account: the second factor, the sessions, the fresh sign-in and the notices.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";

const ACCOUNT = "/dashboard/settings/account";
const SECOND_FACTOR = `${ACCOUNT}/second-factor`;
const NOTICES = `${ACCOUNT}/notices`;
const BAND = "See your notices";

export async function visit({ service, open, step }, options) {
  const { owner } = service.acme;
  const visitor = await open(options);
  const { page } = visitor;
  await visitor.signIn(owner, ACCOUNT);

  const secret = await step("the second factor is set up with the QR code's key and a first code", async () => {
    await page.getByRole("link", { name: "Set up the second factor" }).click();
    assert.ok(await page.getByRole("img", { name: /QR code/ }).isVisible());
    const key = await page.getByLabel("Key").inputValue();
    await page.getByLabel("Code from the app").fill("000000");
    assert.equal(await visitor.press("Turn on"), 422);
    assert.match(await page.getByRole("alert").innerText(), /code is incorrect/);
    assert.equal(await page.getByLabel("Key").inputValue(), key);
    await page.getByLabel("Code from the app").fill(code(key, 0));
    assert.equal(await visitor.press("Turn on"), 200);
    return key;
  });

  const recovery = await step("ten recovery codes are shown once", async () => {
    const codes = (await page.getByRole("textbox", { name: "Recovery codes" }).inputValue()).split("\n");
    assert.equal(codes.length, 10);
    await page.getByRole("link", { name: "I have saved them" }).click();
    assert.match(await page.getByRole("main").innerText(), /10 recovery codes left/);
    assert.ok(!(await page.content()).includes(codes[0]));
    return codes;
  });

  const other = await open(options);
  await step("a sign-in asks for a code after the password", async () => {
    await other.go(`/dashboard/sign-in?return_to=${encodeURIComponent(ACCOUNT)}`);
    assert.equal(await other.fillSignIn(owner), 200);
    await other.page.getByLabel("Code").fill("000000");
    assert.equal(await other.press("Sign in"), 401);
    assert.match(await other.page.getByRole("alert").innerText(), /Incorrect code/);
    // The code of the current time step may have been used for the set-up.
    await other.page.getByLabel("Code").fill(code(secret, 1));
    assert.equal(await other.press("Sign in"), 303);
    assert.equal(other.path(), ACCOUNT);
  });

  await step("a recovery code replaces the app", async () => {
    const lost = await open(options);
    await lost.go("/dashboard/sign-in");
    assert.equal(await lost.fillSignIn(owner), 200);
    await lost.page.getByLabel("Code").fill(recovery[0].toUpperCase());
    assert.equal(await lost.press("Sign in"), 303);
    assert.equal(await lost.press("Sign out"), 303);
  });

  await step("another session is listed and can be ended", async () => {
    await visitor.go(ACCOUNT);
    const rows = page.getByRole("table", { name: "Your sessions" }).getByRole("row");
    assert.equal(await rows.count(), 3, "a heading and two sessions");
    assert.match(await rows.filter({ hasText: "this session" }).innerText(), /Chrome/);
    assert.equal(await visitor.sends(() => page.getByRole("button", { name: /^End the session/ }).click()), 303);
    assert.match(await page.getByRole("status").last().innerText(), /Session ended/);
    assert.equal(await other.isSignedOut(), true);
  });

  await step("notices are shown from the next sign-in until they are dismissed", async () => {
    assert.equal(await visitor.press("Sign out"), 303);
    await visitor.go("/dashboard/sign-in");
    assert.equal(await visitor.fillSignIn(owner), 200);
    await page.getByLabel("Code").fill(recovery[1]);
    assert.equal(await visitor.press("Sign in"), 303);
    assert.ok(await page.getByText(BAND).isVisible());
    await page.getByRole("link", { name: "See your notices" }).click();
    assert.equal(visitor.path(), NOTICES);
    const text = await page.getByRole("main").innerText();
    for (const sentence of ["You turned on a second factor.", "signed in from a new browser", "recovery code"]) {
      assert.ok(text.includes(sentence), `${sentence}: ${text}`);
    }
    assert.equal(await visitor.press("Dismiss these notices"), 303);
    assert.equal(await page.getByText(BAND).count(), 0);
  });

  await step("the second factor is turned off again", async () => {
    await visitor.go(SECOND_FACTOR);
    assert.equal(await visitor.pressWithin("Turn off", "Turn off the second factor"), 303);
    await visitor.go("/dashboard");
    assert.equal(await visitor.press("Sign out"), 303);
    await visitor.signIn(owner);
  });

  await step("the page that asks for the password again continues to its target", async () => {
    await visitor.go(`/dashboard/confirm?return_to=${encodeURIComponent(ACCOUNT)}`);
    await page.getByLabel("Password").fill("wrong");
    assert.equal(await visitor.press("Continue"), 422);
    await page.getByLabel("Password").fill(owner.password);
    assert.equal(await visitor.press("Continue"), 303);
    assert.equal(visitor.path(), ACCOUNT);
  });
}

/** Returns the code of an authenticator app (RFC 6238), a number of time steps from now. */
function code(base32, steps) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...base32].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const digest = createHmac("sha1", key).update(counter).digest();
  const number = digest.readUInt32BE(digest[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}
