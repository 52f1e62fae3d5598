// Three people's tasks, counted in clicks from the overview. Typing, Enter and ticks are free.

import assert from "node:assert/strict";

const PHONE = "+49 30 90182009";

/** Does the three tasks with at most 4, 5 and 5 clicks. */
export async function count(world, options = {}) {
  const { service, step } = world;
  const visitor = await world.open(options);
  const { page } = visitor;
  const post = async (path, body) => {
    const { status, body: created } = await service.call(service.acme.live, "POST", path, body);
    assert.equal(status, 201);
    return created;
  };
  await step("a role has thirteen applicants", async () => {
    const { role } = await post("/api/v1/quick_post", { role: { title: "Baker" } });
    for (let number = 1; number <= 12; number += 1) {
      await post("/api/v1/candidates", { name: `P${number}`, email: `p${number}@people.example`, role_id: role.id });
    }
    await post("/api/v1/candidates", { name: "Zoë", email: "zoe@people.example", phone: PHONE, role_id: role.id });
  });
  await visitor.signIn(service.acme.owner);

  const task = (name, limit, work) =>
    step(`${name}: at most ${limit} clicks`, async () => {
      await visitor.go("/dashboard");
      let clicks = 0;
      await work(async (role, name) => {
        clicks += 1;
        const before = page.url();
        await page.getByRole(role, { name, exact: true }).click();
        await page.waitForURL((url) => url.href !== before || role === "button");
        await page.waitForLoadState();
      });
      assert.ok(clicks <= limit, `${clicks} clicks`);
    });
  await task("a job is posted", 4, async (click) => {
    await click("link", "Post a job");
    await page.getByLabel("Title").fill("Line Cook");
    await click("button", "Publish");
    await page.getByText("on your career page").first().waitFor();
  });
  await task("twelve are rejected with a reason", 5, async (click) => {
    await click("link", "Baker");
    await click("link", "Select several");
    for (let number = 1; number <= 12; number += 1) {
      await page.getByLabel(`Select P${number}`, { exact: true }).check();
    }
    await click("button", "Reject");
    await page.getByLabel("Reason in your own words").fill("The position is filled");
    await click("button", "Reject 12 candidates");
    await page.getByText("12 rejected by").first().waitFor();
  });
  await task("Zoë is found by her phone number and hired", 5, async (click) => {
    await page.getByRole("searchbox").fill(PHONE.replace("+49 ", "0"));
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=/);
    await click("link", "Zoë");
    await click("link", "Hire");
    await click("button", "Hire");
    await page.getByText("was hired").first().waitFor();
  });
}
