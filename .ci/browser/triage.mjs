// Triage of forty applicants, counted in keys, clicks and pages, in a role with four hundred.

import assert from "node:assert/strict";

import { looking } from "./looks.mjs";

/** The number of applicants of the role, of whom the newest are decided about. */
const ALL = 400;
const DECIDED = 40;

export async function visit(world) {
  const { service, step } = world;
  const visitor = await world.open();
  const { page } = visitor;
  const { look } = looking(world, visitor);
  const role = await step(`a role has ${ALL} applicants`, async () => {
    const { role } = await service.create(service.acme.live, "/api/v1/quick_post", { role: { title: "Baker" } });
    let number = 0;
    const add = async () => {
      while (number < ALL) {
        number += 1;
        const person = { name: `P${number}`, email: `p${number}@people.example`, role_id: role.id };
        await service.create(service.acme.live, "/api/v1/candidates", person);
      }
    };
    await Promise.all(Array.from({ length: 8 }, add));
    return role.id;
  });
  const list = `/dashboard/candidates?role_id=${role}&stage=applied`;
  const stages = async () => {
    const { body } = await service.call(service.acme.live, "GET", `/api/v1/roles/${role}/stats`);
    return body;
  };
  let loads = 0;
  page.on("load", () => (loads += 1));
  await visitor.signIn(service.acme.owner);

  /** Decides about forty people with a way to advance and one to reject. Returns the number of acts and of pages. */
  const decide = async (open, advance, reject) => {
    await visitor.go(list);
    loads = 0;
    let acts = 0;
    const act = async (action) => {
      acts += 1;
      await action();
    };
    const leaves = async (action) => {
      await Promise.all([page.waitForEvent("load"), act(action)]);
    };
    await leaves(open);
    const seen = new Set();
    for (let number = 0; number < DECIDED; number += 1) {
      const name = await page.getByRole("heading", { level: 1 }).innerText();
      assert.ok(!seen.has(name), `${name} is shown twice`);
      seen.add(name);
      assert.ok(await inSight(page), "the decision is in sight");
      if (number % 2) {
        await leaves(advance);
      } else {
        await reject(act, leaves);
      }
    }
    console.log(`      ${DECIDED} decisions: ${acts} acts, ${loads} pages`);
    return acts;
  };
  const halves = async (before) => {
    const after = await stages();
    for (const stage of ["screening", "rejected"]) {
      assert.equal(count(after, stage) - count(before, stage), DECIDED / 2, stage);
    }
  };

  await step("forty applicants take at most 70 keys and 45 pages", async () => {
    const before = await stages();
    const press = (key) => () => page.keyboard.press(key);
    const acts = await decide(press("j"), press("s"), async (act, leaves) => {
      await act(press("r"));
      await leaves(press("2"));
    });
    assert.ok(acts <= 70, `${acts} keys`);
    assert.ok(loads <= 45, `${loads} pages`);
    await halves(before);
  });
  await step("forty applicants take at most 80 clicks and 45 pages", async () => {
    const before = await stages();
    const click = (role, name) => () => page.getByRole(role, { name }).first().click();
    const reject = () => page.locator(".reasons > summary").click();
    const acts = await decide(() => page.getByRole("rowheader").first().getByRole("link").first().click(), click("button", "Move to screening"), async (act, leaves) => {
      await act(reject);
      await leaves(click("button", /^Missing skills/));
    });
    assert.ok(acts <= 80, `${acts} clicks`);
    assert.ok(loads <= 45, `${loads} pages`);
    await halves(before);
  });
  await step("one key takes the last decision back, and shows that person again", async () => {
    const said = await page.locator(".said").innerText();
    const name = said.match(/^(P\d+) was moved to screening/)[1];
    const before = await stages();
    await Promise.all([page.waitForEvent("load"), page.keyboard.press("u")]);
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), name);
    assert.equal(count(await stages(), "screening"), count(before, "screening") - 1);
  });
  await step("keys do nothing in a field and in a dialog, with a modifier, or while they are held", async () => {
    const before = page.url();
    await page.keyboard.press("n");
    await page.keyboard.type("isr");
    assert.equal(await page.getByLabel("New note").inputValue(), "isr");
    await page.getByLabel("New note").fill("");
    await page.locator("h1").focus();
    await page.keyboard.press("?");
    assert.ok(await page.getByRole("dialog", { name: "Keyboard shortcuts" }).isVisible());
    await page.keyboard.press("s");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    for (const modifier of ["Control", "Meta", "Alt"]) {
      await page.keyboard.press(`${modifier}+i`);
    }
    await page.locator("h1").dispatchEvent("keydown", { key: "s", repeat: true });
    assert.equal(page.url(), before);
    assert.ok(await page.getByRole("button", { name: "Move to screening" }).isVisible());
  });
  await step("a digit names a reason only while the reasons are shown", async () => {
    const before = page.url();
    await page.keyboard.press("1");
    assert.equal(page.url(), before);
    await page.keyboard.press("r");
    assert.match(await page.locator(":focus").innerText(), /^Not enough experience/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(":focus").innerText(), "Reject");
    assert.ok(await page.getByRole("button", { name: "Move to screening" }).isVisible());
  });
  await look("triage-shortcuts", async () => {
    await page.keyboard.press("?");
    assert.ok(await page.getByRole("dialog").isVisible());
  });
  await step("a click with the shift key selects everybody up to the last click", async () => {
    await visitor.go(list);
    const boxes = page.locator("[name=id]");
    await boxes.nth(2).click();
    await boxes.nth(6).click({ modifiers: ["Shift"] });
    assert.equal(await page.locator("[name=id]:checked").count(), 5);
  });
  await step("a page has one line of at most 96 pixels with one primary button above its list, of which 15 rows are in sight", async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await visitor.go(list);
    const rows = await page.locator("tbody tr").evaluateAll((all) => all.map((row) => row.getBoundingClientRect().bottom));
    assert.ok(rows.filter((bottom) => bottom <= 900).length >= 15, `${rows}`);
    const person = await page.getByRole("rowheader").first().getByRole("link").first().getAttribute("href");
    for (const path of [list, `/dashboard/roles/${role}`, person]) {
      await visitor.go(path);
      const header = page.locator(".is-work, .decision");
      assert.ok((await header.boundingBox()).height <= 96, path);
      assert.equal(await header.locator(".is-first").count(), 1, path);
      assert.equal(await page.locator("main .is-first").count(), 1, path);
    }
  });
  await step("members turn the shortcuts off", async () => {
    await visitor.go("/dashboard/settings/account");
    assert.equal(await visitor.press("Turn the shortcuts off"), 303);
    await visitor.go(list);
    await page.keyboard.press("j");
    await page.keyboard.press("?");
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.equal(visitor.path(), list);
  });
}

/** The number of applications that are in a stage now. */
function count(stats, stage) {
  return stats.stages[stage].now;
}

/** Whether the buttons of the decision are on the screen without scrolling. */
async function inSight(page) {
  return page.locator(".decision form").evaluate((form) => {
    const { top, bottom } = form.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
}
