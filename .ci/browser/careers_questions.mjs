// The questions of a job: 25 of every kind, in Arabic, with mistakes, and with files on the page after the form.

import assert from "node:assert/strict";

import { asLongAsAPerson, NO_RESUME, post, RESUME } from "./careers_content.mjs";
import { UNCACHED } from "./visitor.mjs";

const OPTIONS = ["صباحًا", "مساءً", "ليلًا"];
const KINDS = ["short_text", "long_text", "yes_no", "single_choice", "multiple_choice", "number", "date", "file"];

export async function visit({ service, open, step }, options) {
  const key = service.acme.live;
  const questions = Array.from({ length: 25 }, (_, index) => {
    const kind = KINDS[index % KINDS.length];
    const options = kind.endsWith("_choice") ? OPTIONS : undefined;
    return { label: `سؤال ${index + 1}`, kind, required: index < 16, help: "أجب بإيجاز.", options };
  });
  const { id, slug } = await post(service, key, { title: "رسام" }, { questions });
  const { body } = await service.call(key, "GET", `/api/v1/job_postings/${id}`);
  const asked = body.questions;
  const inForm = asked.filter(({ kind }) => kind !== "file");
  const files = asked.filter(({ kind }) => kind === "file");
  const visitor = await open({ ...UNCACHED, ...options });
  const { page } = visitor;
  const field = ({ id }) => page.locator(`[name="question_${id}"]`);
  const answer = async (question, text) => {
    switch (question.kind) {
      case "yes_no":
        return field(question).selectOption("yes");
      case "single_choice":
        return field(question).selectOption(OPTIONS[1]);
      case "multiple_choice":
        await field(question).first().check();
        return field(question).nth(2).check();
      case "number":
        return field(question).fill("3.5");
      case "date":
        return field(question).fill("2027-01-15");
      default:
        return field(question).fill(text);
    }
  };

  await step("the form asks all questions but those for files", async () => {
    await visitor.go(`/careers/acme/${slug}`);
    for (const question of inForm) {
      assert.ok((await field(question).count()) > 0, question.label);
    }
    assert.equal(await field(files[0]).count(), 0);
    assert.match(await page.getByRole("main").innerText(), /You will be asked for 2 files on the next page/);
  });

  await step("mistakes are beside their questions, and the other answers stay", async () => {
    await page.getByLabel("Name", { exact: true }).fill("نور حداد");
    await page.getByLabel("E-mail address").fill("noor@example.org");
    await page.getByRole("checkbox", { name: /^I agree that my data is stored/ }).check();
    const [missing, ...others] = inForm;
    for (const question of others) {
      await answer(question, "نعم، بكل سرور");
    }
    await asLongAsAPerson(page);
    assert.equal(await visitor.press("Submit application"), 422);
    const summary = await page.getByRole("alert").first().innerText();
    assert.ok(summary.includes(missing.label), summary);
    assert.equal(await page.locator("[aria-invalid=true]").count(), 1);
    assert.equal(await field(others.find(({ kind }) => kind === "long_text")).inputValue(), "نعم، بكل سرور");
    assert.ok(await field(others.find(({ kind }) => kind === "multiple_choice")).nth(2).isChecked());
    await answer(missing, "نور");
    await asLongAsAPerson(page);
    assert.equal(await visitor.press("Submit application"), 303);
  });

  const upload = async (question, file) => {
    const form = page.locator("form", { has: page.getByLabel(question.label, { exact: false }) });
    await form.locator("input[type=file]").setInputFiles(file);
    await Promise.all([page.waitForEvent("load"), form.getByRole("button", { name: "Upload this file" }).click()]);
    return page.getByRole("main").innerText();
  };

  await step("the next page takes a file for each question, and says what is wrong and what is missing", async () => {
    assert.match(await page.getByRole("main").innerText(), /2 files are still needed/);
    assert.match(await upload(files[0], NO_RESUME), /2 files are still needed/);
    assert.equal(await page.locator("[aria-invalid=true]").count(), 1);
    assert.match(await upload(files[0], RESUME), /1 file is still needed/);
    const shown = await upload(files[1], RESUME);
    assert.doesNotMatch(shown, /still needed/);
    assert.equal(shown.match(/we have received your file/g).length, 2);
  });

  await step("the API has all answers, with the files", async () => {
    const { body: found } = await service.call(key, "GET", "/api/v1/candidates?email=noor%40example.org");
    const person = `/api/v1/candidates/${found.data[0].id}`;
    const { body: candidate } = await service.call(key, "GET", person);
    const applied = `/api/v1/applications/${candidate.applications[0].id}`;
    const { body: application } = await service.call(key, "GET", applied);
    assert.deepEqual(
      application.answers.map(({ question_id }) => question_id),
      [...inForm, ...files.slice(0, 2)].map(({ id }) => id),
    );
    const { body: kept } = await service.call(key, "GET", `${person}/files`);
    const answered = application.answers.slice(-2).map(({ value }) => value);
    assert.deepEqual(new Set(kept.data.map(({ id }) => id)), new Set(answered));
    assert.equal(candidate.resume_url, null);
  });
}
