// Passkeys, with Chromium's virtual authenticator: adding, signing in, confirming and removing.

import assert from "node:assert/strict";

import { looking } from "./looks.mjs";

const ACCOUNT = "/dashboard/settings/account";
const ADD = `${ACCOUNT}/passkeys`;

/** Adds a device to the visitor's browser, which verifies its user. Returns the functions that control it. */
async function device(visitor) {
  const session = await visitor.context.newCDPSession(visitor.page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const set = (method, value) => session.send(`WebAuthn.${method}`, { authenticatorId, ...value });
  return {
    verifies: (isUserVerified) => set("setUserVerified", { isUserVerified }),
    passkeys: async () => (await set("getCredentials")).credentials,
  };
}

export async function visit(world) {
  const { service, open, step } = world;
  const { owner } = service.acme;
  // An IP address cannot have passkeys, so the local service has them at localhost.
  const baseURL = service.base.replace("127.0.0.1", "localhost");
  const visitor = await open({ baseURL });
  const { page } = visitor;
  const { look } = looking(world, visitor);

  await step("pages at an IP address do not offer passkeys", async () => {
    const other = await open();
    await other.go("/dashboard/sign-in");
    assert.equal(await other.page.getByText("passkey").count(), 0);
    assert.equal(await other.go("/dashboard/sign-in/passkey"), 400);
  });

  const authenticator = await device(visitor);
  await visitor.signIn(owner, ACCOUNT);
  await look("passkey-add", async () => {
    await page.getByRole("link", { name: "Add a passkey" }).click();
    await page.waitForURL(`**${ADD}`);
  });

  await step("a device that does not verify its user creates no passkey", async () => {
    await authenticator.verifies(false);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("No passkey was created. Try again.").waitFor();
    await authenticator.verifies(true);
  });
  await step("a passkey is added", async () => {
    await page.getByLabel("Name").fill("My laptop");
    assert.equal(await visitor.press("Add a passkey"), 303);
    assert.match(await page.getByRole("status").last().innerText(), /Passkey added/);
    const rows = page.getByRole("table", { name: "Your passkeys" }).getByRole("row");
    assert.match(await rows.last().innerText(), /My laptop[\s\S]*never/);
    const [passkey] = await authenticator.passkeys();
    assert.deepEqual([passkey.isResidentCredential, passkey.rpId], [true, "localhost"]);
  });
  await look("passkey-account", () => visitor.go(ACCOUNT));
  await page.setViewportSize({ width: 1280, height: 900 });
  await step("the same device creates no second passkey", async () => {
    await visitor.go(ADD);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("This device already has a passkey for your account.").waitFor();
  });

  await step("the passkey signs in without an address and a password", async () => {
    await visitor.go("/dashboard");
    assert.equal(await visitor.press("Sign out"), 303);
    await visitor.go(`/dashboard/sign-in?return_to=${encodeURIComponent(ACCOUNT)}`);
    const signedIn = page.waitForURL(`**${ACCOUNT}`);
    await page.getByRole("link", { name: "Sign in with a passkey" }).click();
    await signedIn;
    const rows = page.getByRole("table", { name: "Your passkeys" }).getByRole("row");
    assert.doesNotMatch(await rows.last().innerText(), /never/);
  });

  await step("a passkey that was removed is not accepted", async () => {
    const details = page.locator("details").filter({ hasText: "My laptop" });
    await details.locator("summary").click();
    assert.equal(await visitor.press("Remove the passkey", details), 303);
    assert.match(await page.getByRole("status").last().innerText(), /Passkey removed/);
    assert.equal(await visitor.press("Sign out"), 303);
    await visitor.go("/dashboard/sign-in/passkey");
    await page.waitForURL("**/dashboard/sign-in/passkey?failed=*");
    assert.match(await page.getByRole("alert").innerText(), /This passkey was not accepted/);
  });
  await look("passkey-rejected", () => visitor.go("/dashboard/sign-in/passkey?failed=not-accepted"));
  await look("passkey-refused", async () => {
    await authenticator.verifies(false);
    await visitor.go("/dashboard/sign-in/passkey");
    await page.getByText("No passkey was used.").waitFor();
  });
}

/** Without scripts, the pages say so and lead to the password. */
export async function withoutScripts(world) {
  const { service, open, step } = world;
  const visitor = await open({ javaScriptEnabled: false, baseURL: service.base.replace("127.0.0.1", "localhost") });
  const { page } = visitor;
  await step("the page leads back to the password", async () => {
    await visitor.go(`/dashboard/sign-in?return_to=${encodeURIComponent(ACCOUNT)}`);
    await page.getByRole("link", { name: "Sign in with a passkey" }).click();
    await page.locator("noscript p").waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
    await page.getByRole("link", { name: "Sign in with your password" }).click();
    assert.equal(await visitor.fillSignIn(service.acme.owner), 303);
    assert.equal(visitor.path(), ACCOUNT);
  });
}
