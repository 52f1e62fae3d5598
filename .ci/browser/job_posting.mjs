// Structured data for search engines: JSON-LD that conforms to schema.org's vocabulary and Google's guidelines, and
// contains nothing that the page does not show.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Validator from "@adobe/structured-data-validator";

import { post, publish, publishLong } from "./careers_content.mjs";
import { UNCACHED } from "./visitor.mjs";

const PORTAL = "/careers/acme";
const ODD = '</script><script>alert("odd")</script> & Söhne, 採用担当 مهندس 🦀';
/** Fields that Google requires but some openings do not have. */
const UNKNOWN = new Set(["jobLocation.address.addressCountry"]);
/** Google's employment types, as the page shows them. */
const EMPLOYMENT_TYPES = {
  FULL_TIME: "Full-time",
  PART_TIME: "Part-time",
  CONTRACTOR: "Contract",
  TEMPORARY: "Temporary",
  INTERN: "Internship",
};
const SIGNS = { USD: "$", EUR: "€", GBP: "£" };

export async function visit({ service, open, step }) {
  const key = service.acme.live;
  const visitor = await open(UNCACHED);
  const { page } = visitor;

  const documents = await step(
    "every opening with a location or remote work has markup that matches its page",
    async () => {
      const described = { location: "Lisbon", description: "Cook." };
      const bare = await post(service, key, { title: "No location", description: "Cook." });
      const empty = await post(service, key, { title: "No description", location: "Lisbon" });
      const postings = [
        ...(await publish(service, key, 24)),
        await publishLong(service, key),
        await post(service, key, { ...described, title: ODD, department: ODD, location: ODD, description: ODD }),
        await post(service, key, { ...described, title: "Remote from a place", remote_policy: "remote" }),
        await post(service, key, {
          ...described,
          title: "Remote from anywhere",
          remote_policy: "remote",
          location: null,
        }),
      ];
      const documents = [];
      for (const posting of postings) {
        const markup = await read(visitor, posting.slug);
        if (!markup) {
          assert.doesNotMatch(await page.locator(".facts").innerText(), /Location|Remote/, posting.title);
          continue;
        }
        await requireShown(page, markup, posting);
        documents.push(markup);
      }
      assert.ok(documents.length >= 20);
      for (const { slug } of [bare, empty]) {
        assert.equal(await read(visitor, slug), null);
      }
      return documents;
    },
  );

  await step("lists, paused openings and test data have no markup", async () => {
    const { role_id, slug } = await post(service, key, { title: "Paused", location: "Lisbon", description: "Cook." });
    assert.notEqual(await read(visitor, slug), null);
    await service.create(key, `/api/v1/roles/${role_id}/pause`);
    assert.equal(await read(visitor, slug), null);
    await visitor.go(PORTAL);
    assert.equal(await page.locator("script").count(), 0);
    const rehearsal = await post(service, service.acme.test, {
      title: "Test",
      location: "Lisbon",
      description: "Cook.",
    });
    await visitor.go(`/careers/acme-test/${rehearsal.slug}`);
    assert.equal(await page.locator("script:not([src])").count(), 0);
  });

  await step("the markup conforms to schema.org's vocabulary", async () => {
    assert.ok(documents.every((document) => document["@context"] === "https://schema.org/"));
    assert.deepEqual(await vocabularyErrors(documents), []);
  });

  await step("the markup has every field that Google requires, except the unknown ones", async () => {
    for (const document of documents) {
      const missing = (await ruleViolations(document)).filter((field) => !UNKNOWN.has(field));
      assert.deepEqual(missing, [], document.title);
    }
  });

  await step("errors in the markup are detected", async () => {
    const valid = documents.find(({ jobLocation, baseSalary }) => jobLocation && baseSalary?.value.minValue);
    for (const property of ["title", "description", "datePosted", "hiringOrganization", "jobLocation"]) {
      const { [property]: _, ...without } = valid;
      assert.deepEqual(
        (await ruleViolations(without)).filter((field) => !UNKNOWN.has(field)),
        [property],
      );
    }
    assert.ok((await ruleViolations({ ...valid, datePosted: "soon" })).includes("datePosted"));
    assert.ok((await ruleViolations({ ...valid, validThrough: "2026-12-01" })).includes("validThrough"));
    assert.ok(
      (await ruleViolations({ ...valid, hiringOrganization: { "@type": "Organization" } })).includes(
        "hiringOrganization.name",
      ),
    );
    const salary = (value) => ({
      ...valid,
      baseSalary: { ...valid.baseSalary, value: { ...valid.baseSalary.value, ...value } },
    });
    assert.ok((await ruleViolations(salary({ unitText: "ANNUALLY" }))).includes("baseSalary"));
    const invalid = [
      { ...valid, titel: "Cook" },
      { ...valid, "@type": "JobPostin" },
      { ...valid, directApply: "maybe" },
      { ...valid, jobLocation: { "@type": "Organization", name: "Lisbon" } },
      salary({ minimum: 1 }),
    ];
    const found = await vocabularyErrors([valid, ...invalid]);
    assert.deepEqual(new Set(found.map(({ place }) => place)), new Set([1, 2, 3, 4, 5]), JSON.stringify(found));
  });
}

/** Opens a posting's page. Returns its markup, or null if it has none. */
async function read(visitor, slug) {
  assert.equal(await visitor.go(`${PORTAL}/${slug}`), 200);
  const scripts = await visitor.page
    .locator("script:not([src])")
    .evaluateAll((found) => found.map(({ type, text }) => ({ type, text })));
  assert.ok(scripts.length <= 1);
  assert.ok(scripts.every(({ type }) => type === "application/ld+json"));
  return scripts.length ? JSON.parse(scripts[0].text) : null;
}

/** Asserts that the page shows everything in its markup. */
async function requireShown(page, markup, { title, id, public_url }) {
  assert.equal(markup.title, title);
  assert.equal(markup.url, public_url);
  assert.equal(markup.identifier.value, String(id));
  assert.equal(await page.locator("link[rel=canonical]").getAttribute("href"), public_url);
  assert.equal(await page.locator("h1").textContent(), title);
  assert.equal(await page.locator(".facts time").getAttribute("datetime"), markup.datePosted);
  const facts = await page.locator(".facts").textContent();
  const place = markup.jobLocation?.address.addressLocality ?? markup.applicantLocationRequirements?.name;
  if (place && place !== "Anywhere") {
    assert.ok(facts.includes(place), place);
  }
  if (markup.jobLocationType) {
    assert.equal(markup.jobLocationType, "TELECOMMUTE");
    assert.match(facts, /Remote/);
  }
  if (markup.employmentType) {
    assert.ok(facts.includes(EMPLOYMENT_TYPES[markup.employmentType]), markup.employmentType);
  }
  const { minValue, maxValue, value } = markup.baseSalary?.value ?? {};
  const { currency } = markup.baseSalary ?? {};
  const sign = SIGNS[currency] ?? `${currency} `;
  for (const amount of [minValue, maxValue, value].filter((amount) => amount !== undefined)) {
    assert.ok(facts.includes(sign + amount.toLocaleString("en-US")), String(amount));
  }
  // A long description is shortened in the markup only.
  const textOf = (html) =>
    page.evaluate(
      (html) => new DOMParser().parseFromString(html, "text/html").body.textContent.replace(/\s/g, ""),
      html,
    );
  const shown = (await page.locator(".text > :not(h2)").evaluateAll((found) => found.map((one) => one.outerHTML))).join(
    "",
  );
  assert.ok((await textOf(shown)).startsWith((await textOf(markup.description)).slice(0, 11_000)));
}

/** Returns violations of schema.org's vocabulary. `place` is the document's index in the list. */
async function vocabularyErrors(documents) {
  const folder = await mkdtemp(join(tmpdir(), "rolecall-markup-"));
  try {
    await symlink(fileURLToPath(new URL("node_modules", import.meta.url)), join(folder, "node_modules"));
    const lines = documents.map(
      ({ "@context": _, ...document }, place) => `export const d${place}: JobPosting = ${JSON.stringify(document)};`,
    );
    await writeFile(join(folder, "markup.ts"), ['import type { JobPosting } from "schema-dts";', ...lines].join("\n"));
    const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
    const options = [
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--pretty",
      "false",
    ];
    const found = await promisify(execFile)(process.execPath, [compiler, ...options, "markup.ts"], {
      cwd: folder,
    }).catch((error) => (error.stdout ? error : Promise.reject(error)));
    const problems = found.stdout.split("\n").filter((line) => line && !line.startsWith(" "));
    return problems.map((problem) => {
      const [, line, sentence] = problem.match(/^markup\.ts\((\d+),\d+\): error (.*)/) ?? assert.fail(problem);
      return { place: line - 2, sentence };
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the fields in which a document violates Google's rules for job postings or our own. */
async function ruleViolations(document) {
  const issues = await new Validator().validate({ jsonld: { JobPosting: [structuredClone(document)] } });
  const broken = issues.filter(({ severity }) => severity === "ERROR").flatMap(({ fieldNames }) => fieldNames);
  const { hiringOrganization, baseSalary, datePosted, jobLocation, jobLocationType } = document;
  const ours = {
    "hiringOrganization.name": hiringOrganization && !hiringOrganization.name,
    baseSalary: baseSalary && !(/^[A-Z]{3}$/.test(baseSalary.currency) && baseSalary.value.unitText === "YEAR"),
    salaryCurrency: document.salaryCurrency !== baseSalary?.currency,
    datePosted: datePosted && !/^20\d\d-\d\d-\d\d$/.test(datePosted),
    identifier: document.identifier?.["@type"] !== "PropertyValue",
    directApply: document.directApply !== true,
    // An opening's end date is unknown, and remote work has no location.
    validThrough: "validThrough" in document,
    employmentType: "employmentType" in document && !(document.employmentType in EMPLOYMENT_TYPES),
    jobLocationType: Boolean(jobLocationType && jobLocation),
  };
  return [...new Set([...broken, ...Object.keys(ours).filter((field) => ours[field])])];
}
