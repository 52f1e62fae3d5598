// The feeds: sitemaps that conform to the protocol's schema, and a JSON feed that conforms to its own schema.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import Ajv from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { validateXML } from "xmllint-wasm";

import { post, publish, publishLong } from "./careers_content.mjs";

/** Enough openings for several pages of the feed. */
const FEW = 32;
/** Enough openings for several sitemaps. */
const MANY = 1_200;
const MAX_IN_SITEMAP = 800;
/** The number of openings that are created concurrently. */
const AT_ONCE = 6;

const sitemapPackage = dirname(createRequire(import.meta.url).resolve("sitemap/package.json"));
/** The protocol's schema. */
const SITEMAP = {
  fileName: "sitemap.xsd",
  contents: await readFile(join(sitemapPackage, "schema/sitemap.xsd"), "utf8"),
};
const INDEX = {
  fileName: "siteindex.xsd",
  contents: await readFile(new URL("siteindex.xsd", import.meta.url), "utf8"),
};

const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
formats(ajv);
const isFeed = ajv.compile(JSON.parse(await readFile(new URL("jobs.schema.json", import.meta.url), "utf8")));

export async function visit({ service, step }) {
  const key = service.acme.live;
  const portal = `${service.base}/careers/acme`;

  await step("invalid sitemaps and feeds are detected", async () => {
    const urlset = (content) => `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${content}</urlset>`;
    for (const invalid of [
      urlset(""),
      urlset("<url><lastmod>2026-11-20</lastmod></url>"),
      urlset("<url><loc>https://a.example/</loc><lastmod>yesterday</lastmod></url>"),
      urlset("<url><loc>https://a.example/</loc><title>x</title></url>"),
      urlset("<url><loc>https://a.example/</loc></url>").replace("sitemaps.org", "sitemaps.example"),
      urlset("<url><loc>https://a.example/?a&b</loc></url>"),
    ]) {
      assert.notDeepEqual(await problems(invalid), [], invalid);
    }
    assert.deepEqual(await problems(urlset("<url><loc>https://a.example/</loc></url>")), []);
    const feed = { organization: "Acme", url: portal, jobs: [], next_url: null };
    assert.ok(isFeed(feed));
    assert.ok(!isFeed({ ...feed, next_url: undefined }));
    assert.ok(!isFeed({ ...feed, jobs: [{ title: "Cook" }] }));
  });

  await step("without openings, the feed is empty and the sitemap contains only the career page", async () => {
    const { entries } = await sitemap(`${portal}/sitemap.xml`);
    assert.deepEqual(entries, [{ loc: portal, lastmod: null }]);
    assert.deepEqual(
      (await feed(portal)).map(({ jobs }) => jobs),
      [[]],
    );
  });

  await step("the sitemap contains the career page and each opening with its last change", async () => {
    await publish(service, key, FEW - 2);
    await publishLong(service, key);
    const jobs = (await feed(portal)).flatMap(({ jobs }) => jobs);
    assert.equal(jobs.length, FEW - 1);
    const { entries } = await sitemap(`${portal}/sitemap.xml`);
    const expected = jobs.map(({ url, updated_at }) => ({ loc: url, lastmod: updated_at }));
    assert.deepEqual(entries, [{ loc: portal, lastmod: null }, ...expected]);
  });

  await step("the feed shows every field of an opening", async () => {
    const place = { location: "Porto", country: "PT", remote_policy: "onsite" };
    const role = { title: "Cook", department: "Kitchen", ...place, employment_type: "part_time" };
    const pay = { salary_min: 40_000, salary_max: 50_000, salary_currency: "EUR" };
    const posting = await post(
      service,
      key,
      { ...role, ...pay, description: "*Soup*" },
      { requirements: "Salt & bread" },
    );
    const [
      {
        jobs: [{ published_at, updated_at, ...job }],
      },
    ] = await feed(portal, 1);
    assert.equal(published_at, updated_at);
    assert.deepEqual(job, {
      id: posting.id,
      ...role,
      locations: [],
      is_remote: false,
      description: { html: "<p><em>Soup</em></p>\n", plain: "Soup" },
      requirements: { html: "<p>Salt &amp; bread</p>\n", plain: "Salt & bread" },
      closes_on: null,
      closes_at: null,
      compensation: { min: 40_000, max: 50_000, currency: "EUR", period: "year" },
      pay: { min: "40000", max: "50000", currency: "EUR", period: "year" },
      url: posting.public_url,
      apply_url: `${posting.public_url}#apply`,
    });
  });

  const published = await step(`${MANY} more openings are published`, async () => {
    // A sitemap with such large openings requires more than one database read.
    const wide = { department: "採".repeat(100), location: "用".repeat(200), remote_policy: "hybrid" };
    const waiting = Array.from({ length: MANY }, (_, number) => `${number} ${"担".repeat(190)}`).values();
    const urls = [];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const title of waiting) {
          urls.push((await post(service, key, { title, ...wide })).public_url);
        }
      }),
    );
    return urls;
  });

  await step("the pages of the feed contain every opening once, newest first", async () => {
    const pages = await feed(portal);
    assert.ok(pages.slice(0, -1).every(({ jobs }) => jobs.length === 15));
    const jobs = pages.flatMap(({ jobs }) => jobs);
    assert.equal(jobs.length, MANY + FEW);
    assert.equal(new Set(jobs.map(({ id }) => id)).size, jobs.length);
    const urls = new Set(jobs.map(({ url }) => url));
    assert.ok(published.every((url) => urls.has(url)));
    const instants = jobs.map(({ published_at }) => published_at);
    assert.deepEqual(instants, instants.toSorted().reverse());
  });

  await step("with many openings, the sitemap is an index of sitemaps that contain every opening once", async () => {
    const index = await sitemap(`${portal}/sitemap.xml`);
    assert.equal(index.kind, "sitemap");
    const found = [];
    for (const { loc } of index.entries) {
      const { kind, entries } = await sitemap(loc);
      assert.equal(kind, "url");
      assert.ok(entries.length <= MAX_IN_SITEMAP + 1);
      found.push(...entries.map(({ loc }) => loc));
    }
    assert.equal(found.shift(), portal);
    assert.equal(found.length, MANY + FEW);
    const once = new Set(found);
    assert.equal(once.size, found.length);
    assert.ok(published.every((url) => once.has(url)));
  });

  await step("an unpublished opening is removed from the feed and the sitemap", async () => {
    const { body } = await service.call(key, "GET", "/api/v1/job_postings?limit=1");
    const [{ id, public_url }] = body.data;
    await service.create(key, `/api/v1/job_postings/${id}/unpublish`);
    const [{ jobs }] = await feed(portal, 1);
    assert.ok(jobs.every(({ url }) => url !== public_url));
    const { entries } = await sitemap(`${portal}/sitemap.xml`);
    const { entries: newest } = await sitemap(entries[0].loc);
    assert.ok(newest.every(({ loc }) => loc !== public_url));
  });
}

/** Returns the pages of a feed, at most `limit`. Each must conform to the schema. */
async function feed(portal, limit = Infinity) {
  const pages = [];
  for (let next = `${portal}/jobs.json`; next && pages.length < limit; next = pages.at(-1).next_url) {
    const response = await fetch(next);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    const page = await response.json();
    assert.ok(isFeed(page), ajv.errorsText(isFeed.errors));
    pages.push(page);
  }
  return pages;
}

/** Returns the entries of a valid sitemap or sitemap index, and their kind, `url` or `sitemap`. */
async function sitemap(address) {
  const response = await fetch(address);
  assert.equal(response.headers.get("content-type"), "application/xml");
  const xml = await response.text();
  assert.deepEqual(await problems(xml), [], address);
  // The document is valid, so regular expressions are enough to parse it.
  const [, kind] = xml.match(/<(url|sitemap)>/);
  const unescaped = (text) => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name) => ENTITIES[name]);
  const entries = [...xml.matchAll(/<loc>([^<]*)<\/loc>(?:<lastmod>([^<]*)<\/lastmod>)?/g)];
  return { kind, entries: entries.map(([, loc, lastmod]) => ({ loc: unescaped(loc), lastmod: lastmod ?? null })) };
}

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Returns the problems of a sitemap or a sitemap index. */
async function problems(xml) {
  const isIndex = /<sitemapindex/.test(xml);
  const schema = isIndex ? { schema: INDEX, preload: SITEMAP } : { schema: SITEMAP };
  const { errors } = await validateXML({ xml, ...schema });
  return errors.map(({ message }) => message);
}
