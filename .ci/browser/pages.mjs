// Every page of the dashboard, with and without data.

import assert from "node:assert/strict";

import { Application } from "./connected_apps.mjs";
import { fill, LONG } from "./content.mjs";
import { listen } from "./listener.mjs";
import { looking, PHONE } from "./looks.mjs";

/** A name of the maximum length for an application or a key. */
const LONG_NAME = "W".repeat(100);

const LISTS = {
  overview: "/dashboard",
  roles: "/dashboard/roles",
  postings: "/dashboard/postings",
  candidates: "/dashboard/candidates",
  "api-keys": "/dashboard/settings/integrations/api-keys",
  "connected-apps": "/dashboard/settings/integrations/connected-apps",
  webhooks: "/dashboard/webhooks",
  channels: "/dashboard/settings/integrations/channels",
  organization: "/dashboard/settings/organization",
  "rejection-reasons": "/dashboard/settings/rejection-reasons",
  privacy: "/dashboard/settings/privacy",
  "suspect-forms": "/dashboard/candidates/suspects",
  imports: "/dashboard/imports",
  "import-new": "/dashboard/imports/new",
  exports: "/dashboard/exports",
  "export-new": "/dashboard/exports/new",
  "application-limits": "/dashboard/settings/application-limits",
  retention: "/dashboard/settings/retention",
  "audit-log": "/dashboard/settings/audit-log",
  members: "/dashboard/settings/members",
  account: "/dashboard/settings/account",
  "second-factor": "/dashboard/settings/account/second-factor",
  notices: "/dashboard/settings/account/notices",
};

/** The pages that need no session. */
export async function withoutSession(world) {
  const visitor = await world.open();
  const { look, show } = looking(world, visitor);
  await show("start", "/");
  await show("sign-in", LISTS.overview);
  await look("sign-in-rejected", async () => {
    assert.equal(await visitor.fillSignIn({ email: "nobody@acme.example", password: "not the password" }), 401);
  });
  await show("sign-in-after-sign-out", "/dashboard/sign-in?done=signed-out");
  await show("link-used", "/dashboard/password?token=used", 400);
  await show("consent-unknown", "/oauth/authorize?client_id=unknown", 400);
  await show("nowhere", "/dashboard/nowhere", 404);
  await look("form-foreign", async () => {
    await visitor.go("/dashboard/sign-in");
    await visitor.context.clearCookies();
    assert.equal(await visitor.fillSignIn(world.service.acme.owner), 403);
  });
}

/** The pages of a new organization. */
export async function ofNewOrganization(world) {
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

/** The pages of an organization in use. */
export async function ofOrganizationInUse(world) {
  const { service, step } = world;
  const visitor = await world.open();
  const { page } = visitor;
  const { look, show } = looking(world, visitor);
  const full = await step("the organization is filled through the API", () => fill(service, service.acme.live));
  const site = await listen();
  const address = `${site.origin()}/callback`;
  const application = await Application.register(service, LONG_NAME, address);
  await visitor.signIn(service.acme.owner);

  await show("consent", application.authorizeUrl(address, "roles:read candidates:write"));
  visitor.elsewhere.add(site.origin());
  await visitor.press("Allow");
  await application.exchange(site.visits.at(-1).searchParams.get("code"), address);
  for (const [name, path] of Object.entries(LISTS)) {
    await show(name, path);
  }
  await look("menu", async () => {
    await page.setViewportSize(PHONE);
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
  await show("role-close", `/dashboard/roles/${full.role}/close`);
  await show("role-questions", `/dashboard/roles/${full.role}/questions`);
  await show("role-preview", `/dashboard/roles/${full.role}/preview`);
  await show("role-answers", `/dashboard/roles/${full.role}/answers`);
  await show("role-unknown", "/dashboard/roles/1", 404);
  await show("candidates-of-role", `/dashboard/candidates?role_id=${full.longRole}&stage=screening`);
  await show("candidates-by-score", `/dashboard/candidates?role_id=${full.role}&stage=interview&order=score`);
  await look("candidate-in-list", async () => {
    await visitor.go(`/dashboard/candidates?role_id=${full.role}&stage=applied`);
    await page.getByRole("link", { name: "Applicant 12" }).click();
    await page.waitForURL(/list=/);
    await page.getByRole("link", { name: "Next candidate" }).click();
    await page.getByRole("heading", { level: 1, name: "Applicant 11" }).waitFor();
  });
  await show("candidate-consent", `/dashboard/candidates/${full.hired}/consents`);
  await show("candidate", `/dashboard/candidates/${full.hired}`);
  await show("candidate-long", `/dashboard/candidates/${full.candidate}`);
  await show("candidate-odd", `/dashboard/candidates/${full.rejected}`);

  await look("import-waiting", async () => {
    await visitor.go(LISTS["import-new"]);
    await page.getByLabel("Where the file comes from").fill(LONG_NAME);
    await page.getByRole("button", { name: "Continue to the file" }).click();
    await page.getByRole("heading", { name: "The file" }).waitFor();
  });
  const rows = [{ name: LONG_NAME }, { email: LONG_NAME }];
  const imported = await service.create(service.acme.live, "/api/v1/imports", { format: "ndjson", rows });
  await look("import-checked", async () => {
    await visitor.go(`/dashboard/imports/${imported.id}`);
    const run = page.getByRole("heading", { name: "Run the import" });
    for (let tries = 0; tries < 60 && !(await run.isVisible()); tries += 1) {
      await page.waitForTimeout(500);
      await page.reload();
    }
    await run.waitFor();
  });
  await show("import-rows", `/dashboard/imports/${imported.id}/rows?result=invalid`);
  await show("import-files", `/dashboard/imports/${imported.id}/files`);

  await look("export-problems", async () => {
    await visitor.go(LISTS["export-new"]);
    for (const box of await page.getByRole("checkbox").all()) {
      await box.uncheck();
    }
    assert.equal(await visitor.press("Begin the export"), 422);
  });
  await look("export-running", async () => {
    await page.getByRole("checkbox", { name: "Roles" }).check();
    await page.getByLabel("Role", { exact: true }).selectOption({ index: 1 });
    assert.equal(await visitor.press("Begin the export"), 303);
  });
  const exported = await service.create(service.acme.live, "/api/v1/exports", { format: "ndjson" });
  await look("export-done", async () => {
    await visitor.go(`/dashboard/exports/${exported.id}`);
    const files = page.getByRole("heading", { name: "Files" });
    for (let tries = 0; tries < 60 && !(await files.isVisible()); tries += 1) {
      await page.waitForTimeout(500);
      await page.reload();
    }
    assert.equal(await page.getByRole("link", { name: /^Download / }).count(), 7);
  });
  await show("exports-used", LISTS.exports);

  await look("audit-log-filtered", async () => {
    await visitor.go(LISTS["audit-log"]);
    assert.match(await page.getByRole("main").innerText(), /Ada read a list of candidates/);
    await page.getByLabel("What was done").selectOption({ label: "Candidate read" });
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForURL(/action=candidate\.read/);
    assert.match(await page.getByRole("table").innerText(), /Ada read candidate \d+/);
  });
  await look("audit-log-problems", async () => {
    await page.getByLabel("Who did it").selectOption({ label: "Ada" });
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForURL(/actor=member/);
    assert.match(await page.getByRole("alert").innerText(), /not both/);
  });

  await look("api-keys-problems", async () => {
    await visitor.go(LISTS["api-keys"]);
    await page.getByLabel("Name", { exact: true }).fill(" ");
    await page.getByLabel("Expires after (days)").fill("soon");
    assert.equal(await visitor.press("Create key"), 422);
  });
  await look("api-keys-created", async () => {
    await page.getByLabel("Name", { exact: true }).fill(LONG_NAME);
    await page.getByLabel("Expires after (days)").fill("30");
    assert.equal(await visitor.press("Create key"), 200);
  });
  await look("retention-problems", async () => {
    await visitor.go(LISTS.retention);
    await page.getByLabel("Days").fill("soon");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.waitForURL(/days=soon/);
    assert.match(await page.getByRole("alert").innerText(), /from 30 to 3,650/);
    assert.equal(await page.getByLabel("Days").inputValue(), "soon");
  });
  await look("retention-preview", async () => {
    await page.getByLabel("Days").fill("30");
    await page.getByLabel("Erase them, too").check();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.waitForURL(/days=30&include_hired=yes/);
  });
  await look("retention-set", async () => {
    assert.equal(await visitor.press("Confirm this rule"), 303);
    assert.match(await page.getByRole("main").innerText(), /erased 30 days after/);
  });
  await look("retention-off", async () => {
    assert.equal(await visitor.press("Switch off"), 303);
    assert.match(await page.getByRole("main").innerText(), /Retention is off/);
  });
  await look("members-problems", async () => {
    await visitor.go(LISTS.members);
    await page.getByLabel("Name", { exact: true }).fill(" ");
    await page.getByLabel("E-mail address").fill(service.acme.owner.email);
    assert.equal(await visitor.press("Create invitation"), 422);
  });
  let link;
  await look("members-link", async () => {
    await page.getByLabel("Name", { exact: true }).fill(LONG_NAME);
    await page.getByLabel("E-mail address").fill(LONG.email);
    assert.equal(await visitor.press("Create invitation"), 200);
    link = await page.getByLabel("Single-use link").inputValue();
  });
  await show("members-failure", `${LISTS.members}?failed=own-role`);
  await look("account-problems", async () => {
    await visitor.go(LISTS.account);
    for (const label of ["Current password", "New password", "Confirm new password"]) {
      await page.getByLabel(label, { exact: true }).fill("wrong");
    }
    assert.equal(await visitor.press("Change password"), 422);
  });
  await show("link", link);
  await look("link-problems", async () => {
    await page.getByLabel("New password").fill("short");
    await page.getByLabel("Confirm password").fill("short");
    assert.equal(await visitor.press("Accept invitation"), 422);
  });
}
