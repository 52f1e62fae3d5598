// Members: invited, given links, promoted, signed out, removed. What only owners may do, others neither see nor get.

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

  const invitation = await step("an owner invites somebody, and sees the link once", async () => {
    await owner.page.getByLabel("Name", { exact: true }).fill("Barbara L");
    await owner.page.getByLabel("E-mail address").fill(guest.email);
    await owner.page.getByLabel("Role").selectOption("member");
    assert.equal(await owner.press("Make an invitation"), 200);
    const link = await owner.page.getByLabel("Single-use link").inputValue();
    assert.ok(link.startsWith(`${service.base}/dashboard/password?token=`));
    await owner.go(PATH);
    assert.match(await row.innerText(), /invited/i);
    assert.ok(!(await owner.page.content()).includes(link));
    return link;
  });

  await step("nobody is invited twice", async () => {
    await owner.page.getByLabel("Name", { exact: true }).fill("Another Barbara");
    await owner.page.getByLabel("E-mail address").fill(guest.email.toUpperCase());
    assert.equal(await owner.press("Make an invitation"), 422);
    assert.equal(await owner.page.getByLabel("E-mail address").getAttribute("aria-invalid"), "true");
    assert.equal(await owner.page.getByLabel("Name", { exact: true }).inputValue(), "Another Barbara");
  });

  const member = await open();
  await step("the link sets a password, and signs in", async () => {
    await member.go(invitation);
    await member.page.getByLabel("Your name").fill(guest.name);
    assert.equal(await choose(member, guest.password, "another password"), 422);
    assert.match(await member.page.getByRole("alert").innerText(), /must be the same/);
    assert.equal(await member.page.getByLabel("Your name").inputValue(), guest.name);
    assert.equal(await choose(member, guest.password), 303);
    assert.match(await member.page.getByRole("status").innerText(), /password is set/);
    await owner.go(PATH);
    assert.match(await row.innerText(), /Barbara\s.*active/is);
  });

  await step("the link is good once", async () => {
    const second = await open();
    assert.equal(await second.go(invitation), 400);
    assert.match(await second.page.getByRole("main").innerText(), /no longer good/);
  });

  await step("a member sees nothing that only owners do", async () => {
    await member.go(PATH);
    assert.ok(await member.page.getByText(service.acme.owner.email).isVisible());
    assert.equal(await member.page.getByRole("main").locator("form, button, summary").count(), 0);
  });

  await step("what only owners do is refused to a member, with 403 and a page", async () => {
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

  await step("whoever is made an owner is one at the next click, and back", async () => {
    assert.equal(await change(owner, guest, "Make an owner"), 303);
    await member.go(PATH);
    assert.ok(await member.page.getByRole("button", { name: "Make an invitation" }).isVisible());
    assert.equal(await change(owner, guest, "Make a plain member"), 303);
    assert.equal(await forge(member, PATH, { name: "Eve", email: "eve@acme.example", role: "owner" }), 403);
  });

  await step("nobody changes or removes themselves", async () => {
    await owner.go(PATH);
    const self = owner.page.getByRole("row").filter({ hasText: service.acme.owner.email });
    assert.equal(await self.locator("summary").count(), 0);
  });

  await step("a link to a new password replaces the one before, and ends every session", async () => {
    await change(owner, guest, "Make a password link");
    const replaced = await owner.page.getByLabel("Single-use link").inputValue();
    await change(owner, guest, "Make a password link");
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

  await step("a changed password keeps this session and ends the others", async () => {
    const other = await open();
    await other.signIn(guest);
    assert.equal(await choosePassword(member, "not the password", "a long third password"), 422);
    assert.match(await member.page.getByRole("alert").innerText(), /current password is not right/);
    const before = (await member.cookie()).value;
    assert.equal(await choosePassword(member, guest.password, "a long third password"), 303);
    assert.match(await member.page.getByRole("status").innerText(), /has changed/);
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

  await step("whoever is removed is out at the next click, and so are the applications connected by them", async () => {
    await member.signIn(guest);
    const site = await listen();
    member.elsewhere.add(site.origin());
    const address = `${site.origin()}/callback`;
    const application = await Application.register(service, "Barbara's helper", address);
    await member.go(application.asks(address, "roles:read"));
    await member.press("Allow");
    const { access_token } = await application.exchange(site.visits.at(-1).searchParams.get("code"), address);
    assert.equal((await service.call(access_token, "GET", "/api/v1/roles")).status, 200);
    assert.equal(await change(owner, guest, "Remove from the organization"), 303);
    assert.equal(await row.count(), 0);
    assert.equal(await member.isSignedOut(), true);
    assert.equal(await member.fillSignIn(guest), 401);
    assert.equal((await service.call(access_token, "GET", "/api/v1/roles")).status, 401);
  });
}

/** Fills in the page behind a link. */
async function choose(visitor, password, repeated = password) {
  await visitor.page.getByLabel("New password").fill(password);
  await visitor.page.getByLabel("The same password again").fill(repeated);
  return visitor.sends(() => visitor.page.locator("main form button").click());
}

/** Fills in the account's form. */
async function choosePassword(visitor, current, next) {
  await visitor.go(ACCOUNT);
  await visitor.page.getByLabel("Current password").fill(current);
  await visitor.page.getByLabel("New password", { exact: true }).fill(next);
  await visitor.page.getByLabel("The new password again").fill(next);
  return visitor.press("Change the password");
}

/** Presses one of the buttons that change somebody, named by how it begins. */
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

/** Sends a form of the visitor's own, good token and all, to where the page has none. */
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
