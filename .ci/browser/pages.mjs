// Every page, empty and full, on a telephone and at a desk, by day and by night: accessible, fitting, pictured.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { Application } from "./connected_apps.mjs";
import { fill, LONG } from "./content.mjs";
import { listen } from "./listener.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SIZES = [{ width: 375, height: 812 }, { width: 1280, height: 900 }];
const SCHEMES = ["light", "dark"];
/** The narrowest screen that a page must fit (WCAG 1.4.10). */
const NARROWEST = { width: 320, height: 812 };

/** The longest name of an application or a key. */
const LONG_NAME = "W".repeat(100);

const LISTS = {
  overview: "/dashboard",
  roles: "/dashboard/roles",
  postings: "/dashboard/postings",
  candidates: "/dashboard/candidates",
  "api-keys": "/dashboard/settings/integrations/api-keys",
  "connected-apps": "/dashboard/settings/integrations/connected-apps",
  channels: "/dashboard/settings/integrations/channels",
  members: "/dashboard/settings/members",
  account: "/dashboard/settings/account",
};

/** What a stranger sees. */
export async function withoutSession(world) {
  const visitor = await world.open();
  const { look, show } = looking(world, visitor);
  await show("sign-in", LISTS.overview);
  await look("sign-in-refused", async () => {
    assert.equal(await visitor.fillSignIn({ email: "nobody@acme.example", password: "not the password" }), 401);
  });
  await show("sign-in-after-sign-out", "/dashboard/sign-in?done=signed-out");
  await show("link-spent", "/dashboard/password?token=spent", 400);
  await show("consent-unknown", "/oauth/authorize?client_id=unknown", 400);
  await show("nowhere", "/dashboard/nowhere", 404);
  await look("form-foreign", async () => {
    await visitor.go("/dashboard/sign-in");
    await visitor.context.clearCookies();
    assert.equal(await visitor.fillSignIn(world.service.acme.owner), 403);
  });
}

/** What the owner of a new organization sees. */
export async function atFirst(world) {
  const { owner, live } = world.service.globex;
  const visitor = await world.open();
  const { look, show } = looking(world, visitor);
  await visitor.signIn(owner);
  for (const [name, path] of Object.entries(LISTS)) {
    await show(`${name}-empty`, path);
  }
  await show("roles-none-open", `${LISTS.roles}?status=open`);
  await show("candidates-none-in-stage", `${LISTS.candidates}?stage=offer`);
  await look("overview-test", async () => {
    await visitor.go(LISTS.overview);
    await visitor.press("Test");
  });
  await look("overview-nearly-used-up", async () => {
    for (let count = 0; count < 90; count += 1) {
      await world.service.call(live, "GET", "/api/v1/organization");
    }
    await visitor.press("Live");
  });
}

/** What the owner of an organization sees that has been hiring for a while. */
export async function inUse(world) {
  const { service, step } = world;
  const visitor = await world.open();
  const { page } = visitor;
  const { look, show } = looking(world, visitor);
  const full = await step("the organization is filled by the API", () => fill(service, service.acme.live));
  const site = await listen();
  const address = `${site.origin()}/callback`;
  const application = await Application.register(service, LONG_NAME, address);
  await visitor.signIn(service.acme.owner);

  await show("consent", application.asks(address, "roles:read candidates:write"));
  visitor.elsewhere.add(site.origin());
  await visitor.press("Allow");
  await application.exchange(site.visits.at(-1).searchParams.get("code"), address);
  for (const [name, path] of Object.entries(LISTS)) {
    await show(name, path);
  }
  await look("menu", async () => {
    await page.setViewportSize(SIZES[0]);
    await visitor.go(LISTS.overview);
    await page.getByRole("button", { name: "Menu" }).click();
  });
  await look("roles-next", async () => {
    await visitor.go(LISTS.roles);
    await page.getByRole("link", { name: "Next page" }).click();
    await page.waitForURL(/before=/);
  });
  await show("role", `/dashboard/roles/${full.role}`);
  await show("role-long", `/dashboard/roles/${full.longRole}`);
  await show("role-unknown", "/dashboard/roles/1", 404);
  await show("candidates-of-role", `/dashboard/candidates?role_id=${full.longRole}&stage=screening`);
  await show("candidate", `/dashboard/candidates/${full.hired}`);
  await show("candidate-long", `/dashboard/candidates/${full.candidate}`);
  await show("candidate-odd", `/dashboard/candidates/${full.rejected}`);

  await look("api-keys-problems", async () => {
    await visitor.go(LISTS["api-keys"]);
    await page.getByLabel("Name", { exact: true }).fill(" ");
    await page.getByLabel("Expires in days").fill("soon");
    assert.equal(await visitor.press("Create the key"), 422);
  });
  await look("api-keys-created", async () => {
    await page.getByLabel("Name", { exact: true }).fill(LONG_NAME);
    await page.getByLabel("Expires in days").fill("30");
    assert.equal(await visitor.press("Create the key"), 200);
  });
  await look("members-problems", async () => {
    await visitor.go(LISTS.members);
    await page.getByLabel("Name", { exact: true }).fill(" ");
    await page.getByLabel("E-mail address").fill(service.acme.owner.email);
    assert.equal(await visitor.press("Make an invitation"), 422);
  });
  let link;
  await look("members-link", async () => {
    await page.getByLabel("Name", { exact: true }).fill(LONG_NAME);
    await page.getByLabel("E-mail address").fill(LONG.email);
    assert.equal(await visitor.press("Make an invitation"), 200);
    link = await page.getByLabel("Single-use link").inputValue();
  });
  await show("members-failure", `${LISTS.members}?failed=own-role`);
  await look("account-problems", async () => {
    await visitor.go(LISTS.account);
    for (const label of ["Current password", "New password", "The new password again"]) {
      await page.getByLabel(label, { exact: true }).fill("wrong");
    }
    assert.equal(await visitor.press("Change the password"), 422);
  });
  await show("link", link);
  await look("link-problems", async () => {
    await page.getByLabel("New password").fill("short");
    await page.getByLabel("The same password again").fill("short");
    assert.equal(await visitor.press("Accept the invitation"), 422);
  });
}

/** Steps that bring a page up and look at it: by an action, or by its path and status. One that fails ends nothing. */
function looking({ step, screenshots }, visitor) {
  const look = (name, action) =>
    step(name, async () => {
      await action();
      await inEveryLight(visitor.page, name, screenshots);
    }).catch(() => {});
  const show = (name, path, status = 200) =>
    look(name, async () => assert.equal(await visitor.go(path), status));
  return { look, show };
}

/** Looks at what is shown in every size and scheme. */
async function inEveryLight(page, name, screenshots) {
  for (const viewport of SIZES) {
    await page.setViewportSize(viewport);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: `${screenshots}/${name}-${viewport.width}-${colorScheme}.png`, fullPage: true });
      const isOpen = await page.locator("[popover]:popover-open").count();
      if (!isOpen) {
        await setDetails(page, true);
      }
      assert.deepEqual(await violations(page), [], `${viewport.width}, ${colorScheme}`);
      assert.equal(await overflow(page), 0, `pixels too wide at ${viewport.width}`);
      await setDetails(page, false);
    }
  }
  await page.setViewportSize(NARROWEST);
  assert.equal(await overflow(page), 0, `pixels too wide at ${NARROWEST.width}`);
}

async function setDetails(page, open) {
  await page.locator("details").evaluateAll((found, open) => found.forEach((details) => (details.open = open)), open);
}

async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** What breaks the standards, and where. */
async function violations(page) {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.evaluate(AXE);
  }
  const found = await page.evaluate((tags) => axe.run({ runOnly: tags, resultTypes: ["violations"] }), STANDARDS);
  const where = (nodes) => nodes.slice(0, 3).map(({ html }) => html);
  return found.violations.map(({ id, help, nodes }) => ({ id, help, where: where(nodes) }));
}
