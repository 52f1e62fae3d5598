// A candidate's journey: from the list of openings to the application and its result in the API.

import assert from "node:assert/strict";

import { asLongAsAPerson, LARGE_RESUME, NO_RESUME, post, publish, RESUME } from "./careers_content.mjs";
import { isOnScreen, requireLeadsToField } from "./looks.mjs";
import { UNCACHED } from "./visitor.mjs";

const PORTAL = "/careers/acme";
/** Invalid values for the form. */
const INVALID = {
  Name: " ",
  "E-mail address": "ada at example",
  Phone: "12",
  "Link to your resume": "ftp://example.com/cv",
};
const VALID = { Name: "Ada Lovelace", "E-mail address": "ada@example.org", Phone: "+1 (415) 555-0132" };

export async function visit({ service, open, step }, options) {
  const key = service.acme.live;
  const visitor = await open({ ...UNCACHED, reducedMotion: "reduce", ...options });
  const { page } = visitor;
  const titles = page.getByRole("main").getByRole("list").first().getByRole("heading", { level: 2 });
  const field = (label) => page.getByLabel(label, { exact: label === "Name" });
  const typed = () => Promise.all(Object.keys(INVALID).map((label) => field(label).inputValue()));
  const fill = async (fields) => {
    for (const [label, value] of Object.entries(fields)) {
      await field(label).fill(value);
    }
  };
  const follow = async (name, within = page.getByRole("main")) => {
    await Promise.all([page.waitForEvent("load"), within.getByRole("link", { name, exact: true }).first().click()]);
  };

  const requireMarks = async (pattern) => {
    const marks = await page.locator(".marks").allInnerTexts();
    assert.ok(marks.length > 0);
    marks.forEach((mark) => assert.match(mark, pattern));
  };

  await step("an organization without openings shows an empty list", async () => {
    assert.equal(await visitor.go(PORTAL), 200);
    assert.ok(await page.getByRole("heading", { name: "No openings at the moment" }).isVisible());
    assert.equal(await page.getByRole("search").count(), 0);
  });

  const postings = await publish(service, key, 60);
  await step("the list shows all openings, newest first", async () => {
    await visitor.go(PORTAL);
    const shown = await titles.allInnerTexts();
    assert.equal(shown.length, 50);
    await follow("More openings");
    shown.push(...(await titles.allInnerTexts()));
    assert.deepEqual(shown, postings.map(({ title }) => title).reverse());
    await follow("Back to the first page");
    assert.equal(visitor.path(), PORTAL);
  });

  await step("the search ignores accents and case", async () => {
    await page.getByRole("searchbox", { name: "Search" }).fill("emigre SUPPORT");
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Search" }).click()]);
    assert.deepEqual(new Set(await titles.allInnerTexts()), new Set(["Émigré Support Specialist"]));
    assert.equal(await page.getByRole("searchbox").inputValue(), "emigre SUPPORT");
    await page.getByRole("searchbox").fill("astronaut");
    await Promise.all([page.waitForEvent("load"), page.getByRole("searchbox").press("Enter")]);
    assert.ok(await page.getByRole("heading", { name: "No openings match your search" }).isVisible());
    await follow("see all openings");
    assert.equal(await titles.count(), 50);
  });

  await step("filters by department, location and workplace can be combined and opened from an opening", async () => {
    const filters = page.locator("details");
    if (!(await page.getByLabel("Department").isVisible())) {
      await filters.locator("summary").click();
    }
    await page.getByLabel("Department").fill("engineering");
    await page.getByLabel("Location").fill("lisbon");
    await page.getByLabel("Workplace").selectOption("hybrid");
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Search" }).click()]);
    await requireMarks(/Engineering[\s·]+Lisbon, Portugal[\s·]+Hybrid/);
    assert.equal(await page.getByLabel("Department").inputValue(), "engineering");
    await follow("Show all openings");
    await follow("Engineering");
    assert.equal(visitor.path(), `${PORTAL}?department=Engineering`);
    await requireMarks(/^Engineering/);
    await visitor.go(PORTAL);
  });

  await step("an opening shows its role", async () => {
    await follow("Senior Rust Engineer");
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Senior Rust Engineer");
    const shown = await page.getByRole("main").innerText();
    for (const expected of ["Engineering", "Lisbon, Portugal", "Hybrid", "€150,000 to €190,000 a year", "Today"]) {
      assert.ok(shown.includes(expected), `${expected} is not in: ${shown}`);
    }
    assert.ok(await page.getByRole("heading", { name: "What you will do", level: 3 }).isVisible());
    assert.equal(await page.getByRole("table").getByRole("row").count(), 4);
    assert.ok(await page.getByRole("link", { name: "our handbook" }).isVisible());
  });
  const job = visitor.path();

  await step(
    "an invalid application shows a problem beside each field and keeps the typed values",
    async () => {
      await page.getByRole("link", { name: "Apply for this job" }).click();
      await fill(INVALID);
      await field("Note").fill("Hello,\n<b>there</b> & then");
      assert.equal(await visitor.press("Submit application"), 422);
      assert.match(await page.title(), /^Error: /);
      const summary = page.getByRole("alert");
      assert.ok(await summary.evaluate((alert) => alert === document.activeElement), "the summary has the focus");
      assert.ok(await isOnScreen(summary));
      const problems = summary.getByRole("link");
      assert.equal(await problems.count(), 4, "no phone number is a mistake");
      for (const problem of await problems.all()) {
        await requireLeadsToField(page, problem);
      }
      assert.deepEqual(await typed(), Object.values(INVALID));
      assert.equal(await field("Note").inputValue(), "Hello,\n<b>there</b> & then");
      const { body } = await service.call(key, "GET", "/api/v1/candidates");
      assert.deepEqual(body.data, [], "nothing was written");
    },
  );

  await step("a valid application is submitted", async () => {
    await fill({ ...VALID, "Link to your resume": "example.org/ada" });
    const consents = await page.getByRole("checkbox").all();
    assert.equal(consents.length, 3);
    for (const consent of consents) {
      assert.equal(await consent.isChecked(), false, "nothing is ticked beforehand");
    }
    await consents[0].check();
    await consents[2].check();
    await asLongAsAPerson(page);
    assert.equal(await visitor.press("Submit application"), 303);
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Application received");
  });

  await step("a file that is not a resume is rejected, and another can be uploaded", async () => {
    // The page may have been opened by another name of the service, while the bucket redirects to the usual one.
    const localhost = new URL(page.url());
    localhost.hostname = "localhost";
    visitor.elsewhere.add(localhost.origin);
    assert.equal(await visitor.go(localhost.href), 200);
    await page.locator("input[type=file]").setInputFiles(NO_RESUME);
    assert.equal(await visitor.press("Upload resume"), 303);
    assert.equal(new URL(page.url()).origin, service.base);
    assert.match(await page.getByRole("alert").innerText(), /^This is a web page/);
    await page.locator("input[type=file]").setInputFiles(RESUME);
    assert.equal(await visitor.press("Upload resume"), 303);
    assert.match(await page.getByRole("main").innerText(), /and your resume/);
    assert.equal(await page.locator("input[type=file]").count(), 0);
  });

  const attached = page.getByText(`Attached: ${RESUME.name}`);
  const isLeftOut = async () => assert.equal(await page.locator("input[type=file]").inputValue(), "");
  const runsScripts = options?.javaScriptEnabled !== false;
  await step("the form keeps a resume, and everything else, while mistakes are corrected", async () => {
    await visitor.go(visitor.path().replace(/\/apply.*/, ""));
    await fill({ ...VALID, "E-mail address": "no address" });
    await page.locator("input[type=file]").setInputFiles(RESUME);
    await page.locator("#consent").check();
    await asLongAsAPerson(page);
    assert.equal(await visitor.press("Submit application"), 422);
    assert.ok(await attached.isVisible());
    await page.getByLabel("E-mail address").fill(VALID["E-mail address"]);
    await page.locator("input[type=file]").setInputFiles(NO_RESUME);
    await asLongAsAPerson(page);
    assert.equal(await visitor.press("Submit application"), 422);
    assert.match(await page.getByRole("alert").innerText(), /This is a web page/);
    assert.ok(await attached.isVisible());
    assert.ok(await page.locator("#consent").isChecked());
    assert.equal(await field("Name").inputValue(), VALID.Name);
  });

  await step("a resume that is too large is left out, and the page says what to do", async () => {
    await page.locator("input[type=file]").setInputFiles(LARGE_RESUME);
    if (!runsScripts) {
      assert.equal(await visitor.press("Submit application"), 422);
    }
    const problem = page.locator("#resume_file-problem");
    assert.match(await problem.innerText(), /^Your file is larger than 4 MB\. Apply without it/);
    assert.match(await page.locator("input[type=file]").getAttribute("aria-describedby"), /resume_file-problem$/);
    await isLeftOut();
    assert.equal(await field("Name").inputValue(), VALID.Name);
    if (runsScripts) {
      await page.locator("input[type=file]").setInputFiles(RESUME);
      assert.equal(await problem.count(), 0, "another file has no problem");
      assert.equal(await page.locator("input[type=file]").getAttribute("aria-invalid"), null);
    }
  });

  await step("the API shows the candidate, the application, the history and the file", async () => {
    const [{ id }, ...others] = (await service.call(key, "GET", "/api/v1/candidates")).body.data;
    assert.deepEqual(others, []);
    const { body: candidate } = await service.call(key, "GET", `/api/v1/candidates/${id}`);
    assert.equal(candidate.name, VALID.Name);
    assert.equal(candidate.email, VALID["E-mail address"]);
    assert.equal(candidate.phone, "+14155550132");
    assert.equal(candidate.stage, "applied");
    const { role_id } = postings.at(-1);
    assert.deepEqual(
      candidate.applications.map(({ role_id, status, source }) => ({ role_id, status, source })),
      [{ role_id, status: "active", source: "career_page" }],
    );
    assert.deepEqual(
      candidate.touchpoints.map(({ kind }) => kind),
      ["updated", "file_added", "applied", "consent_changed", "consent_changed", "created"],
    );
    assert.deepEqual(
      candidate.consents.map(({ purpose, granted }) => [purpose, granted]),
      [
        ["application", true],
        ["recording", true],
      ],
    );
    assert.ok(candidate.touchpoints.every(({ actor }) => actor.type === "career_page"));
    assert.equal((await service.call(key, "GET", `/api/v1/roles/${role_id}/stats`)).body.applicants, 1);
    const file = await fetch(candidate.resume_url);
    assert.equal(file.status, 200);
    assert.match(file.headers.get("content-disposition"), /^attachment/);
    assert.equal(file.headers.get("content-type"), "application/octet-stream");
    assert.deepEqual(Buffer.from(await file.arrayBuffer()), RESUME.buffer);
  });

  await step("a repeated application gets the same response and is ignored", async () => {
    const answers = [];
    for (const [email, posting] of [
      ["ADA@example.org", postings.at(-1)],
      ["new@example.org", postings.at(-2)],
    ]) {
      await visitor.go(`${PORTAL}/${posting.slug}`);
      await fill({ ...VALID, "E-mail address": email });
      await page.getByRole("checkbox").first().check();
      await asLongAsAPerson(page);
      assert.equal(await visitor.press("Submit application"), 303);
      answers.push((await page.getByRole("main").innerText()).replace(posting.title, "TITLE"));
    }
    assert.equal(answers[0], answers[1]);
    const { body } = await service.call(key, "GET", "/api/v1/candidates");
    assert.equal(body.data.length, 2);
  });

  await step("an opening with a paused role is shown but does not accept applications", async () => {
    const { role_id } = postings.at(-1);
    await visitor.go(job);
    await service.create(key, `/api/v1/roles/${role_id}/pause`);
    await fill(VALID);
    await page.getByRole("checkbox").first().check();
    assert.equal(await visitor.press("Submit application"), 422);
    assert.match(await page.getByRole("main").innerText(), /is not accepting applications for this job at the moment/);
    await visitor.go(job);
    assert.equal(await page.locator("form").count(), 0);
    assert.ok(await page.getByRole("heading", { name: "What you will do" }).isVisible());
  });

  await step("closed, unpublished and unknown jobs and unknown organizations have a helpful page", async () => {
    await service.call(key, "DELETE", `/api/v1/roles/${postings.at(-1).role_id}`);
    assert.equal(await visitor.go(job), 410);
    assert.match(await page.getByRole("main").innerText(), /“Senior Rust Engineer” at Acme is no longer open/);
    await follow("See all openings");
    assert.equal(visitor.path(), PORTAL);
    assert.equal(await titles.first().innerText(), postings.at(-2).title);
    await service.create(key, `/api/v1/job_postings/${postings.at(-2).id}/unpublish`);
    assert.equal(await visitor.go(`${PORTAL}/${postings.at(-2).slug}`), 410);
    assert.equal(await visitor.go(`${PORTAL}/no-such-job`), 404);
    assert.ok(await page.getByRole("link", { name: "See all openings" }).isVisible());
    assert.equal(await visitor.go("/careers/no-such-organization"), 404);
    assert.ok(await page.getByRole("heading", { name: "Career page not found" }).isVisible());
  });

  await step("every page links to the privacy page, and the form does so in a new tab", async () => {
    await visitor.go(PORTAL);
    await follow("Privacy", page.getByRole("contentinfo"));
    assert.equal(visitor.path(), `${PORTAL}/privacy`);
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Privacy");
    await visitor.go(`${PORTAL}/${postings.at(0).slug}`);
    const link = page.locator("form").getByRole("link", { name: /^How Acme uses your data/ });
    const [opened] = await Promise.all([visitor.context.waitForEvent("page"), link.click()]);
    await opened.waitForLoadState();
    assert.equal(new URL(opened.url()).pathname, `${PORTAL}/privacy`);
    await opened.close();
  });

  await step("test data has its own pages with a notice", async () => {
    const { slug } = await post(service, service.acme.test, { title: "Rehearsal" });
    await visitor.go("/careers/acme-test");
    assert.deepEqual(await titles.allInnerTexts(), ["Rehearsal"]);
    await follow("Rehearsal");
    assert.match(await page.getByRole("banner").innerText(), /^Test data/);
    assert.equal(await page.locator("meta[name=robots]").getAttribute("content"), "noindex");
    assert.equal(await visitor.go(`${PORTAL}/${slug}`), 404);
  });

  await step("the pages set no cookie", async () => {
    assert.deepEqual(await visitor.context.cookies(), []);
  });
}
