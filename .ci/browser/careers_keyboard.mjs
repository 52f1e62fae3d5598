// Keyboard use: from the list of openings to an application with a file.

import assert from "node:assert/strict";

import { asLongAsAPerson, post, publish, RESUME } from "./careers_content.mjs";
import { isFocusVisible, next, tabTo } from "./keyboard.mjs";
import { UNCACHED } from "./visitor.mjs";

/** More tab stops than any page has. */
const MAX_STOPS = 400;

export async function visit({ service, open, step }) {
  const visitor = await open({ ...UNCACHED, reducedMotion: "reduce" });
  const { page } = visitor;
  const { keyboard } = page;
  const enter = () => Promise.all([page.waitForEvent("load"), keyboard.press("Enter")]);
  await publish(service, service.acme.live, 20);
  await post(service, service.acme.live, { title: "Keyboard Player", department: "Music", description: "Play." });

  await step("the first tab stop skips the header", async () => {
    await visitor.go("/careers/acme");
    assert.equal(await next(page), "Skip to main content");
    assert.ok(await isFocusVisible(page));
    await keyboard.press("Enter");
    assert.equal(await next(page), "Search");
  });

  await step("search and filter", async () => {
    await keyboard.type("player");
    await tabTo(page, "Department");
    await keyboard.type("mus");
    await tabTo(page, "Search");
    await enter();
    assert.equal(visitor.path(), "/careers/acme?q=player&department=Music&location=&remote_policy=");
    await tabTo(page, "Show all openings");
    await enter();
  });

  for (const size of [
    { width: 1280, height: 900 },
    { width: 390, height: 844 },
  ]) {
    await step(`every tab stop is visible and has a name at ${size.width}`, async () => {
      await page.setViewportSize(size);
      for (const path of [
        "/careers/acme",
        "/careers/acme?q=player&location=x",
        "/careers/acme/keyboard-player",
        "/careers/acme/privacy",
      ]) {
        await visitor.go(path);
        const stops = [];
        for (let stop = await next(page); stop !== null; stop = await next(page)) {
          assert.ok(stop, `${path}: the stop after ${stops.at(-1)} has no name`);
          assert.notEqual(stop, "Leave this empty");
          assert.ok(await isFocusVisible(page), `${path}: the focus on ${stop} is not visible`);
          stops.push(stop);
          assert.ok(stops.length < MAX_STOPS, `the focus never leaves the page: ${stops}`);
        }
      }
    });
  }

  await step("open an opening and go to its form", async () => {
    await visitor.go("/careers/acme");
    await tabTo(page, "Keyboard Player");
    await enter();
    await tabTo(page, "Apply for this job");
    await keyboard.press("Enter");
    assert.equal(await next(page), "Name");
  });

  await step("submit an invalid form: the focus moves to the summary, which links to the field", async () => {
    await keyboard.type("Clara Schumann");
    await tabTo(page, "Submit application");
    assert.equal(await visitor.sends(() => keyboard.press("Enter")), 422);
    assert.ok(await page.getByRole("alert").evaluate((alert) => alert === document.activeElement));
    assert.equal(await next(page), "Enter your e-mail address.");
    await keyboard.press("Enter");
    await keyboard.type("clara@example.org");
    const stops = [];
    while (stops.at(-1) !== "I agree that my data is stored and used to consider my application.") {
      stops.push(await next(page));
      assert.ok(stops.length < 7, stops.join());
    }
    await keyboard.press("Space");
    await asLongAsAPerson(page);
    assert.equal(await visitor.sends(() => keyboard.press("Enter")), 303);
  });

  await step("upload a file", async () => {
    const chooser = page.waitForEvent("filechooser");
    await tabTo(page, "Resume");
    await keyboard.press("Enter");
    await (await chooser).setFiles(RESUME);
    await tabTo(page, "Upload resume");
    assert.equal(await visitor.sends(() => keyboard.press("Enter")), 303);
    assert.match(await page.getByRole("main").innerText(), /and your resume/);
    const { body } = await service.call(service.acme.live, "GET", "/api/v1/candidates");
    assert.deepEqual(
      body.data.map(({ name }) => name),
      ["Clara Schumann"],
    );
  });
}
