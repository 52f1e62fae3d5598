// A recruiter's day: from the job to the hire and the erasure, without a single request to the API.

import assert from "node:assert/strict";

import { NO_RESUME, RESUME } from "./careers_content.mjs";
import { looking } from "./looks.mjs";

const ZOE = { name: "Zoë Müller", email: "zoe@people.example", phone: "+49 30 90182009" };

/** Adds a candidate for the role of the form. */
async function add(visitor, role, { name, email, phone = "" }) {
  await visitor.go(`/dashboard/candidates/new?role_id=${role}`);
  await visitor.page.getByLabel("Name", { exact: true }).fill(name);
  await visitor.page.getByLabel("E-mail address").fill(email);
  await visitor.page.getByLabel("Phone number").fill(phone);
  assert.equal(await visitor.press("Add candidate"), 303);
}

/** Presses a button in the menu of a candidate's card. */
async function pressOnCard(visitor, name, button) {
  const card = visitor.page.locator("[data-card]").filter({ hasText: name });
  await card.locator("summary").click();
  return visitor.press(button, card);
}

async function inColumn(visitor, stage) {
  return visitor.page.locator(`[data-stage=${stage}] [data-card] > a bdi`).allInnerTexts();
}

/** With scripts, every page is also checked in every look. */
export async function visit(world, options = {}) {
  const { service, step } = world;
  const hasScripts = options.javaScriptEnabled !== false;
  const visitor = await world.open(options);
  const { page } = visitor;
  const look = hasScripts ? looking(world, visitor).look : (_, action) => action();
  const said = async (text) => assert.match(await page.locator(".said").first().innerText(), text);
  await visitor.signIn(service.acme.owner);

  await look("work-quick-post", async () => {
    await visitor.go("/dashboard");
    await page.getByRole("link", { name: "Post a job" }).click();
    await page.waitForURL(/quick-post/);
  });
  await look("work-quick-post-problems", async () => {
    await page.getByLabel("Title").fill(" ");
    assert.equal(await visitor.press("Publish"), 422);
    assert.match(await page.title(), /^Error: /);
    assert.equal(await page.locator(":focus").getAttribute("role"), "alert");
    await page.getByRole("link", { name: "Title can't be blank." }).click();
    assert.equal(await page.locator(":focus").getAttribute("name"), "role.title");
  });
  await step("a job is previewed in a tab of its own, and what was typed stays in the form", async () => {
    await page.getByLabel("Title").fill("Line Cook");
    await page.getByLabel("Description").fill("Cook **well**.");
    const preview = await visitor.opensPreview();
    assert.equal(await preview.getByRole("heading", { level: 1 }).innerText(), "Line Cook");
    assert.equal(await preview.locator(".text strong").innerText(), "well");
    assert.match(await preview.locator(".band").innerText(), /^Preview of unsaved changes: nobody can see this page/);
    await preview.getByLabel("Name", { exact: true }).press("Enter");
    assert.ok(await preview.getByRole("button", { name: "Submit application" }).isDisabled());
    assert.match(preview.url(), /\/dashboard\/quick-post$/);
    await preview.close();
    assert.equal(await page.getByLabel("Description").inputValue(), "Cook **well**.");
  });
  await step("a job is posted", async () => {
    await page.getByLabel("Title").fill("Line Cook");
    await page.getByLabel("Department").fill("Kitchen");
    await page.getByLabel("Country").selectOption({ label: "Germany" });
    await page.getByLabel("Pay from").fill("40.000");
    await page.getByLabel("Currency of the pay").selectOption("EUR");
    assert.equal(await visitor.press("Publish"), 303);
    assert.match(await page.getByRole("main").innerText(), /€40,000/);
    await said(/on your career page/);
  });
  const role = page.url().match(/roles\/(\d+)/)[1];
  const board = `/dashboard/roles/${role}`;
  await step("people are added", async () => {
    await add(visitor, role, ZOE);
    for (const name of ["Ann", "Bo", "Cy", "محمد علي"]) {
      await add(visitor, role, { name, email: `${encodeURIComponent(name).replaceAll("%", "")}@people.example` });
    }
  });
  await look("work-resume-problem", async () => {
    await visitor.go("/dashboard/candidates/new");
    await page.getByLabel("Name", { exact: true }).fill("Dee");
    await page.getByLabel("E-mail address").fill("dee@people.example");
    await page.getByLabel("Resume file").setInputFiles(NO_RESUME);
    assert.equal(await visitor.press("Add candidate"), 422);
    assert.ok(await page.getByRole("link", { name: /^This is a web page/ }).isVisible());
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Dee");
  });
  await look("work-resume", async () => {
    await page.getByLabel("Resume file").setInputFiles(RESUME);
    assert.equal(await visitor.press("Add candidate"), 303);
    assert.equal(await page.locator("iframe").count(), 0, "a stranger's file is shown only on a click");
    const shown = page.waitForResponse((response) => response.url().startsWith(service.files));
    await page.getByRole("link", { name: "Show the resume here" }).click();
    await page.getByTitle("Resume of Dee").scrollIntoViewIfNeeded();
    const headers = await (await shown).allHeaders();
    assert.equal(headers["content-type"], "application/pdf");
    assert.equal(headers["content-disposition"], "inline");
  });
  await step("another file replaces the resume", async () => {
    await page.getByRole("link", { name: "Replace the resume" }).click();
    await page.getByLabel("Resume file").setInputFiles({ ...RESUME, buffer: Buffer.from("Dee, cook") });
    assert.equal(await visitor.press("Save"), 303);
    assert.equal(await page.locator("iframe").count(), 0);
    assert.ok(await page.getByRole("link", { name: "Download", exact: true }).isVisible());
  });
  await look("work-duplicate", async () => {
    await visitor.go("/dashboard/candidates/new");
    await page.getByLabel("Name", { exact: true }).fill("Twice");
    await page.getByLabel("E-mail address").fill(ZOE.email.toUpperCase());
    assert.equal(await visitor.press("Add candidate"), 422);
    assert.ok(await page.getByRole("link", { name: "Open the existing candidate" }).isVisible());
  });
  await look("work-board-moved", async () => {
    await visitor.go(board);
    assert.equal(await pressOnCard(visitor, ZOE.name, "interview"), 303);
    await said(/was moved to/);
    assert.deepEqual(await inColumn(visitor, "interview"), [ZOE.name]);
  });
  await step("a move is undone from the message about it", async () => {
    assert.equal(await visitor.press("Undo"), 303);
    assert.deepEqual(await inColumn(visitor, "interview"), []);
  });
  if (hasScripts) {
    await step("a card is dragged, which submits the form of its menu", async () => {
      const card = page.locator("[data-card]").filter({ hasText: ZOE.name });
      await visitor.sends(() => card.dragTo(page.locator("[data-stage=offer]")));
      await said(/was moved to/);
      assert.deepEqual(await inColumn(visitor, "offer"), [ZOE.name]);
    });
    await step("the board reads aloud as headings, lists and named buttons", async () => {
      const read = await page.locator("#board").ariaSnapshot();
      assert.match(read, /heading "applied" \[level=3\]/i);
      assert.match(read, /link "Zoë Müller"/);
      assert.match(read, /Move Ann/);
    });
  }
  await look("work-reject", async () => {
    await visitor.go(board);
    await page.locator("[data-card]").filter({ hasText: "Ann" }).locator("summary").click();
    await visitor.press("Reject", page.locator("[data-card]").filter({ hasText: "Ann" }));
    assert.match(await page.getByRole("heading", { level: 1 }).innerText(), /Reject Ann/);
  });
  await step("a rejection has a reason, and is undone", async () => {
    await page.getByLabel("Reason in your own words").fill("Too far away");
    assert.equal(await visitor.press("Reject"), 303);
    await said(/was rejected/);
    assert.equal(await visitor.press("Undo"), 303);
    assert.ok((await inColumn(visitor, "applied")).includes("Ann"));
  });
  await look("work-search", async () => {
    await visitor.go("/dashboard");
    await page.getByRole("searchbox").fill("030 90182009");
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=/);
    assert.equal(await page.getByRole("table").getByRole("rowheader").count(), 1);
  });
  await step("the candidate gets a note and a voice screen", async () => {
    await page.getByRole("link", { name: ZOE.name }).click();
    await page.getByLabel("New note").fill("A good\nfirst call");
    assert.equal(await visitor.press("Add note"), 303);
    await page.getByRole("link", { name: "Invite to a voice screen" }).click();
  });
  await look("work-invite", async () => visitor.go(page.url()));
  await step("the voice screen takes place", async () => {
    assert.equal(await visitor.press("Invite"), 303);
    const link = page.getByRole("link", { name: /^Read the transcript/ });
    for (let tries = 0; tries < 1_200 && !(await link.count()); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      await page.reload();
    }
  });
  await look("work-candidate", async () => visitor.go(page.url()));
  await look("work-screen", async () => {
    await page.getByRole("link", { name: /^Read the transcript/ }).click();
    await page.waitForURL(/screens/);
    assert.match(await page.getByRole("main").innerText(), /Transcript/);
  });
  await look("work-hire", async () => {
    await visitor.go(`/dashboard/candidates?search=zoe`);
    await page.getByRole("link", { name: ZOE.name }).click();
    await page.getByRole("link", { name: "Hire", exact: true }).click();
    await page.waitForURL(/to=hired/);
  });
  await step("the candidate is hired", async () => {
    await page.getByLabel("First day of work").fill("2027-01-04");
    assert.equal(await visitor.press("Hire"), 303);
    assert.match(await page.getByRole("main").innerText(), /Starts on 4 Jan 2027/);
  });
  await look("work-several", async () => {
    await visitor.go(`/dashboard/candidates?role_id=${role}&stage=applied`);
    await page.getByRole("link", { name: "Select all shown" }).click();
    await page.waitForURL(/all=yes/);
    assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 4);
  });
  await look("work-several-review", async () => {
    await visitor.go(page.url());
    await page.getByRole("button", { name: "Reject", exact: true }).click();
    await page.waitForURL(/bulk/);
  });
  await look("work-several-done", async () => {
    await page.getByLabel("Reason in your own words").fill("The position is filled");
    assert.equal(await visitor.press("Reject 4 candidates"), 303);
    await said(/You can undo it for a day/);
    assert.ok(await page.getByRole("button", { name: /^Undo for 4 rejected by/ }).isVisible());
  });
  await look("work-several-roles", async () => {
    await visitor.go("/dashboard/candidates");
    await page.getByRole("checkbox", { name: /^Select / }).first().check();
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await page.waitForURL(/bulk/);
    await page.getByText("All roles", { exact: true }).waitFor();
  });
  await look("work-x", async () => {
    await visitor.go(board);
    await page.getByRole("link", { name: "Post to X" }).click();
    await page.waitForURL(/\/x$/);
    assert.equal(await visitor.sends(() => page.getByRole("button", { name: /Post this text/ }).first().click()), 303);
    await said(/Posted to X/);
  });
  await look("work-edit-role", async () => visitor.go(`${board}/edit`));
  await look("work-edit-posting", async () => visitor.go(`${board}/posting`));
  await step("the role is paused and resumed", async () => {
    await visitor.go(board);
    for (const [button, text] of [["Pause", /paused/], ["Resume", /resumed/]]) {
      assert.equal(await visitor.press(button), 303);
      await said(text);
    }
  });
  await look("work-close", async () => {
    await visitor.go(board);
    await page.getByRole("link", { name: "Close the role" }).click();
    await page.waitForURL(/close$/);
    assert.match(await page.getByRole("main").innerText(), /The way back/);
  });
  await step("the role is closed, the closing is undone, and the role is closed again", async () => {
    for (const [button, text] of [["Close the role", /Role closed/], ["Undo", /Undone/]]) {
      assert.equal(await visitor.press(button), 303);
      await said(text);
    }
    assert.ok(await page.getByRole("button", { name: "Pause", exact: true }).isVisible());
    await visitor.go(`${board}/close`);
    assert.equal(await visitor.press("Close the role"), 303);
    assert.equal(await page.getByRole("link", { name: "Add a candidate" }).count(), 0);
  });
  await look("work-erase", async () => {
    await visitor.go("/dashboard/candidates?search=zoe%40people.example");
    await page.getByRole("link", { name: ZOE.name }).click();
    await page.getByRole("link", { name: "Erase this person" }).click();
    await page.waitForURL(/erase/);
  });
  await step("the candidate is erased", async () => {
    const path = visitor.path().replace("/erase", "");
    assert.equal(await visitor.press("Erase for good"), 303);
    assert.equal(await visitor.go(path), 410);
  });
}
