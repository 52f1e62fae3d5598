// API keys: create, show once, use and revoke.

import assert from "node:assert/strict";

const PATH = "/dashboard/settings/integrations/api-keys";

export async function visit({ service, open, step }, options) {
  const visitor = await open(options);
  const { page } = visitor;
  const name = `Career site${options ? ", without scripts" : ""}`;
  await visitor.signIn(service.acme.owner, PATH);

  const row = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });

  await step("an invalid form keeps its values and lists the problems", async () => {
    await page.getByLabel("Name", { exact: true }).fill(name);
    for (const scope of await page.getByRole("checkbox").all()) {
      await scope.uncheck();
    }
    await page.getByLabel("Expires after (days)").fill("soon");
    assert.equal(await visitor.press("Create key"), 422);
    const problems = page.getByRole("alert").getByRole("link");
    assert.equal(await problems.count(), 2);
    await problems.last().click();
    const expiry = page.getByLabel("Expires after (days)");
    assert.ok(await expiry.evaluate((field) => field === document.activeElement), "its link focuses the field");
    assert.equal(await expiry.getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
  });

  const secret = await step("a key with two scopes is created and shown", async () => {
    await page.getByRole("checkbox", { name: "roles:read" }).check();
    await page.getByRole("checkbox", { name: "organization:read" }).check();
    await page.getByLabel("Expires after (days)").fill("");
    assert.equal(await visitor.press("Create key"), 200);
    assert.match(await row.innerText(), /active/i);
    return page.getByLabel("API key", { exact: true }).inputValue();
  });

  await step(options ? "without scripts, there is no button that copies" : "the key is copied", async () => {
    const copy = page.locator("[data-copy]");
    if (options) {
      assert.ok(await copy.isHidden());
      return;
    }
    await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await copy.click();
    await page.getByText("Copied", { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  });

  await step("the key works only for its scopes", async () => {
    assert.match(secret, /^rc_live_[0-9A-Za-z]+$/);
    assert.equal((await service.call(secret, "GET", "/api/v1/roles")).status, 200);
    assert.equal((await service.call(secret, "GET", "/api/v1/candidates")).status, 403);
    assert.equal((await service.call(secret, "POST", "/api/v1/roles", { title: "Cook" })).status, 403);
  });

  await step("the key is not shown again, on any page", async () => {
    for (const link of await links(page)) {
      await visitor.go(link);
      assert.ok(!(await page.content()).includes(secret), link);
    }
    await visitor.go(PATH);
    assert.match(await row.innerText(), /2/i);
    await row.locator("summary").first().click();
    assert.match(await row.innerText(), /roles:read\s+organization:read/i);
    assert.match(await row.innerText(), /20\d\d/);
  });

  await step("a revoked key is rejected at its next call", async () => {
    assert.equal(await visitor.pressWithin(`Revoke ${name}`, `Revoke ${name} now`), 303);
    assert.equal((await service.call(secret, "GET", "/api/v1/roles")).status, 401);
    assert.match(await page.getByRole("status").innerText(), /API key revoked/);
    assert.match(await row.innerText(), /revoked/i);
    assert.equal(await row.getByRole("button").count(), 0);
  });

  await step("a test key has no access to live data, and is listed with the test data", async () => {
    const name = page.getByRole("rowheader", { name: "Rehearsal", exact: true });
    await page.getByLabel("Name", { exact: true }).fill("Rehearsal");
    await page.getByRole("radio", { name: "Test data" }).check();
    assert.equal(await visitor.press("Create key"), 200);
    const rehearsal = await page.getByLabel("API key", { exact: true }).inputValue();
    assert.match(rehearsal, /^rc_test_/);
    assert.equal((await service.call(rehearsal, "GET", "/api/v1/organization")).body.mode, "test");
    assert.equal(await name.count(), 0);
    assert.equal(await visitor.press("Test"), 303);
    await visitor.go(PATH);
    assert.equal(await name.count(), 1);
  });
}

/** Returns the paths of the menu's links. */
async function links(page) {
  const menu = page.getByRole("navigation", { name: "Dashboard" }).getByRole("link");
  return menu.evaluateAll((found) => found.map((link) => link.getAttribute("href")));
}
