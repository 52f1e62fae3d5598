// Members: invitations, password links, roles, sign-out, removal. Plain members cannot use the owners' actions.

import assert from "node:assert/strict";

import { Application } from "./connected_apps.mjs";
import { listen } from "./listener.mjs";

const PATH = "/dashboard/settings/members";
const ACCOUNT = "/dashboard/settings/account";

export async function visit({ service, open, step }) {
  const owner = await open();
  await owner.signIn(service.acme.owner, PATH);
  const guest = { name: "Barbara", email: "barbara@acme.example", password: "a long first password" };
  const row = owner.page.getByRole("row").filter({ hasText: guest.email });

  const invitation = await step("an owner invites a member and sees the link once", async () => {
    await owner.page.getByLabel("Name", { exact: true }).fill("Barbara L");
    await owner.page.getByLabel("E-mail address").fill(guest.email);
    await owner.page.getByLabel("Role").selectOption("member");
    assert.equal(await owner.press("Create invitation"), 200);
    const link = await owner.page.getByLabel("Single-use link").inputValue();
    assert.ok(link.startsWith(`${service.base}/dashboard/password?token=`));
    await owner.go(PATH);
    assert.match(await row.innerText(), /invited/i);
    assert.ok(!(await owner.page.content()).includes(link));
    return link;
  });

  await step("an e-mail address cannot be invited twice", async () => {
    await owner.page.getByLabel("Name", { exact: true }).fill("Another Barbara");
    await owner.page.getByLabel("E-mail address").fill(guest.email.toUpperCase());
    assert.equal(await owner.press("Create invitation"), 422);
    assert.equal(await owner.page.getByLabel("E-mail address").getAttribute("aria-invalid"), "true");
    assert.equal(await owner.page.getByLabel("Name", { exact: true }).inputValue(), "Another Barbara");
  });

  const member = await open();
  await step("the link sets a password and signs in", async () => {
    await member.go(invitation);
    await member.page.getByLabel("Your name").fill(guest.name);
    assert.equal(await choose(member, guest.password, "another password"), 422);
    assert.match(await member.page.getByRole("alert").innerText(), /do not match/);
    assert.equal(await member.page.getByLabel("Your name").inputValue(), guest.name);
    assert.equal(await choose(member, guest.password), 303);
    assert.match(await member.page.getByRole("status").innerText(), /Password set/);
    await owner.go(PATH);
    assert.match(await row.innerText(), /Barbara\s.*active/is);
  });

  await step("the link works only once", async () => {
    const second = await open();
    assert.equal(await second.go(invitation), 400);
    assert.match(await second.page.getByRole("main").innerText(), /no longer valid/);
  });

  await step("a plain member sees none of the owners' actions", async () => {
    await member.go(PATH);
    assert.ok(await member.page.getByText(service.acme.owner.email).isVisible());
    assert.equal(await member.page.getByRole("main").locator("form, button, summary").count(), 0);
  });

  await step("a plain member gets a 403 with a page from the owners' actions", async () => {
    const id = await idOf(owner, row);
    for (const path of [PATH, ...["link", "role", "remove"].map((action) => `${PATH}/${id}/${action}`)]) {
      await member.go(ACCOUNT);
      assert.equal(await forge(member, path, { name: "Eve", email: "eve@acme.example", role: "owner" }), 403);
      assert.match(await member.page.getByRole("heading", { level: 1 }).innerText(), /not allowed/);
    }
    await owner.go(PATH);
    assert.equal(await owner.page.getByText("eve@acme.example").count(), 0);
    assert.match(await row.innerText(), /Barbara\s.*member/is);
  });

  await step("a role change takes effect at the next click", async () => {
    assert.equal(await change(owner, guest, "Change to owner"), 303);
    await member.go(PATH);
    assert.ok(await member.page.getByRole("button", { name: "Create invitation" }).isVisible());
    assert.equal(await change(owner, guest, "Change to member"), 303);
    assert.equal(await forge(member, PATH, { name: "Eve", email: "eve@acme.example", role: "owner" }), 403);
  });

  await step("owners cannot change or remove themselves", async () => {
    await owner.go(PATH);
    const self = owner.page.getByRole("row").filter({ hasText: service.acme.owner.email });
    assert.equal(await self.locator("summary").count(), 0);
  });

  await step("a password reset link replaces the previous one and ends every session", async () => {
    await change(owner, guest, "Create password reset link");
    const replaced = await owner.page.getByLabel("Single-use link").inputValue();
    await change(owner, guest, "Create password reset link");
    const link = await owner.page.getByLabel("Single-use link").inputValue();
    const elsewhere = await open();
    assert.equal(await elsewhere.go(replaced), 400);
    assert.equal(await elsewhere.go(link), 200);
    assert.equal(await member.isSignedOut(), false, "not yet");
    guest.password = "a long second password";
    assert.equal(await choose(elsewhere, guest.password), 303);
    assert.equal(await member.isSignedOut(), true);
    await member.signIn(guest, ACCOUNT);
  });

  await step("a password change keeps this session and ends the others", async () => {
    const other = await open();
    await other.signIn(guest);
    assert.equal(await choosePassword(member, "not the password", "a long third password"), 422);
    assert.match(await member.page.getByRole("alert").innerText(), /current password is incorrect/);
    const before = (await member.cookie()).value;
    assert.equal(await choosePassword(member, guest.password, "a long third password"), 303);
    assert.match(await member.page.getByRole("status").innerText(), /Password changed/);
    assert.notEqual((await member.cookie()).value, before);
    assert.equal(await other.isSignedOut(), true);
    assert.equal(await other.fillSignIn(guest), 401);
    guest.password = "a long third password";
    assert.equal(await other.fillSignIn(guest), 303);
  });

  await step("signing out everywhere ends every session", async () => {
    const other = await open();
    await other.signIn(guest);
    await member.go(ACCOUNT);
    assert.equal(await member.press("Sign out everywhere"), 303);
    assert.equal(await member.isSignedOut(), true);
    assert.equal(await other.isSignedOut(), true);
  });

  await step("a removed member and the applications that they connected lose access at the next click", async () => {
    await member.signIn(guest);
    const site = await listen();
    member.elsewhere.add(site.origin());
    const address = `${site.origin()}/callback`;
    const application = await Application.register(service, "Barbara's helper", address);
    await member.go(application.authorizeUrl(address, "roles:read"));
    await member.press("Allow");
    const { access_token } = await application.exchange(site.visits.at(-1).searchParams.get("code"), address);
    assert.equal((await service.call(access_token, "GET", "/api/v1/roles")).status, 200);
    assert.equal(await change(owner, guest, "Remove from organization"), 303);
    assert.equal(await row.count(), 0);
    assert.equal(await member.isSignedOut(), true);
    assert.equal(await member.fillSignIn(guest), 401);
    assert.equal((await service.call(access_token, "GET", "/api/v1/roles")).status, 401);
  });
}

/** Fills in and submits the form of the page that a link opens. */
async function choose(visitor, password, repeated = password) {
  await visitor.page.getByLabel("New password").fill(password);
  await visitor.page.getByLabel("Confirm password").fill(repeated);
  return visitor.sends(() => visitor.page.locator("main form button").click());
}

/** Fills in and submits the password form of the account. */
async function choosePassword(visitor, current, next) {
  await visitor.go(ACCOUNT);
  await visitor.page.getByLabel("Current password").fill(current);
  await visitor.page.getByLabel("New password", { exact: true }).fill(next);
  await visitor.page.getByLabel("Confirm new password").fill(next);
  return visitor.press("Change password");
}

/** Presses a button in the "Change" menu of a member. `name` is the beginning of its label. */
async function change(owner, guest, name) {
  await owner.go(PATH);
  const details = owner.page.getByRole("row").filter({ hasText: guest.email }).locator("details");
  await details.locator("summary").click();
  return owner.sends(() => details.getByRole("button", { name }).click());
}

async function idOf(owner, row) {
  const action = await row.locator("form").first().getAttribute("action");
  return action.match(/\/(\d+)\//)[1];
}

/** Submits a form with the visitor's valid CSRF token to a path that no form of the page has. */
async function forge(visitor, path, fields) {
  await visitor.go(ACCOUNT);
  return visitor.sends(() =>
    visitor.page.evaluate(
      ([path, fields]) => {
        const form = document.querySelector("main form");
        form.action = path;
        form.querySelectorAll("input:not([name=csrf])").forEach((input) => input.remove());
        for (const [name, value] of Object.entries(fields)) {
          const input = Object.assign(document.createElement("input"), { type: "hidden", name, value });
          form.append(input);
        }
        form.submit();
      },
      [path, fields],
    ),
  );
}
