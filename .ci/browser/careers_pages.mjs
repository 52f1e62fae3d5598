// Every career page, and the settings page for their branding.

import assert from "node:assert/strict";

import {
  asLongAsAPerson, LARGE_RESUME, NO_RESUME, post, publish, publishLong, RESUME,
} from "./careers_content.mjs";
import { LONG } from "./content.mjs";
import { looking, requireLeadsToField } from "./looks.mjs";
import { UNCACHED } from "./visitor.mjs";

const PORTAL = "/careers/acme";
const SETTINGS = "/dashboard/settings/career-page";
const LOGO = "https://logos.example/acme.svg";
const BRANDING = {
  Name: "Acme Health",
  Introduction:
    "We make the tools that hospitals rely on when minutes count. Sixty people in four countries, profitable since 2021.",
  Colour: "#9b1c4a",
  "Logo URL": LOGO,
};

const PRIVACY_TEXT = "We keep your data for **one year**.\n\n## Who decides\n\n1. The hiring team\n2. Nobody else";
/** A contact address with a sign that a URL must encode. */
const CONTACT = "privacy&data@acme.example";

/** The pages that candidates see. */
export async function forCandidates(world) {
  const { service } = world;
  const key = service.acme.live;
  const visitor = await world.open(UNCACHED);
  const { page } = visitor;
  const { look, show } = looking(world, visitor);

  await show("careers-list-empty", PORTAL);
  await show("careers-unknown-organization", "/careers/no-such-organization", 404);
  await show("careers-privacy", `${PORTAL}/privacy`);
  await show("careers-unknown-job", `${PORTAL}/no-such-job`, 404);
  const postings = await publish(service, key, 60);
  const job = `${PORTAL}/${postings.at(-1).slug}`;
  await show("careers-list", PORTAL);
  await look("careers-list-next", async () => {
    await visitor.go(PORTAL);
    const [next] = await Promise.all([
      page.waitForEvent("load"),
      page.getByRole("link", { name: "More openings" }).click(),
    ]);
    assert.equal(next, page);
  });
  await show("careers-search", `${PORTAL}?q=engineer&department=engineering`);
  await show("careers-search-nothing", `${PORTAL}?q=astronaut`);
  await show("careers-job", job);
  await look("careers-job-problems", async () => {
    await visitor.go(job);
    await page.getByLabel("E-mail address").fill("ada at example");
    await page.getByLabel("Note").fill("Hello,\nI would like to join.");
    await page.locator("input[type=file]").setInputFiles({ ...RESUME, name: "سيرة ذاتية 2026.pdf" });
    assert.equal(await visitor.press("Submit application"), 422);
    assert.ok(await page.getByText("Attached: سيرة ذاتية 2026.pdf").isVisible());
  });
  await look("careers-job-file-too-large", async () => {
    await visitor.go(job);
    await page.locator("input[type=file]").setInputFiles(LARGE_RESUME);
    assert.ok(await page.getByText(/^Your file is larger than 4 MB/).isVisible());
  });
  await look("careers-job-arabic", async () => {
    const role = {
      title: "مهندس Rust أول 2026",
      department: "الهندسة",
      location: "عمّان",
      description: "نبحث عن مهندس Rust.\n\n- خبرة خمس سنوات\n- Rust و AWS",
    };
    await visitor.go(`${PORTAL}/${(await post(service, key, role)).slug}`);
    for (const part of [page.getByRole("heading", { level: 1 }), page.locator(".text")]) {
      assert.equal(await part.evaluate((element) => getComputedStyle(element).direction), "rtl");
    }
    await page.getByLabel("Name", { exact: true }).fill("محمد علي");
    const direction = await page.getByLabel("Name", { exact: true }).evaluate((field) => getComputedStyle(field).direction);
    assert.equal(direction, "rtl");
  });
  await look("careers-received", async () => {
    await apply(visitor, job);
  });
  await look("careers-received-problem", async () => {
    await apply(visitor, job);
    await page.locator("input[type=file]").setInputFiles(NO_RESUME);
    await visitor.press("Upload resume");
  });
  await look("careers-received-file", async () => {
    await apply(visitor, job);
    await page.locator("input[type=file]").setInputFiles(RESUME);
    await visitor.press("Upload resume");
  });
  await look("careers-job-paused", async () => {
    await service.create(key, `/api/v1/roles/${postings.at(-1).role_id}/pause`);
    await visitor.go(job);
  });
  await look("careers-gone", async () => {
    await service.call(key, "DELETE", `/api/v1/roles/${postings.at(-1).role_id}`);
    assert.equal(await visitor.go(job), 410);
  });
  await show("careers-job-bare", `${PORTAL}/${(await post(service, key, { title: "Cook" })).slug}`);
  await post(service, service.acme.test, { title: "Rehearsal", location: "Backstage" });
  await show("careers-list-test", "/careers/acme-test");
}

/** Pages with long text, the page for too many applications, and pages with the organization's branding. */
export async function withBranding(world) {
  const { service, step } = world;
  const key = service.acme.live;
  const visitor = await world.open(UNCACHED);
  const { page } = visitor;
  const { look, show } = looking(world, visitor);
  const long = `${PORTAL}/${(await publishLong(service, key)).slug}`;
  const postings = await publish(service, key, 3);

  await show("careers-list-long", PORTAL);
  await show("careers-job-long", long);
  await look("careers-job-long-problems", async () => {
    await visitor.go(long);
    await page.getByLabel("Name", { exact: true }).fill(LONG.title + LONG.title);
    await page.getByLabel("E-mail address").fill(`${LONG.email}${LONG.email}`);
    await page.getByLabel("Link to your resume").fill(`${LONG.resume_url}${LONG.resume_url}`);
    assert.equal(await visitor.press("Submit application"), 422);
  });
  await look("careers-received-long", () => apply(visitor, long));
  const owner = await world.open();
  const { look: lookAtSettings } = looking(world, owner);
  const field = (label) => owner.page.getByLabel(label, { exact: true });
  await owner.signIn(service.acme.owner, SETTINGS);
  await lookAtSettings("career-page-problems", async () => {
    await field("Name").fill(" ");
    await field("Introduction").fill("word ".repeat(121));
    await field("Colour").fill("#ffcc00");
    await field("Logo URL").fill("http://logos.example/acme.svg");
    assert.equal(await owner.press("Save"), 422);
    const problems = await owner.page.getByRole("alert").getByRole("link").all();
    assert.equal(problems.length, 4);
    for (const problem of problems) {
      await requireLeadsToField(owner.page, problem);
    }
    assert.equal(await field("Colour").inputValue(), "#ffcc00");
  });
  await lookAtSettings("career-page", async () => {
    for (const [label, value] of Object.entries(BRANDING)) {
      await field(label).fill(value);
    }
    assert.equal(await owner.press("Save"), 303);
    assert.equal(await field("Introduction").inputValue(), BRANDING.Introduction);
  });

  await lookAtSettings("organization-set", async () => {
    await owner.go("/dashboard/settings/organization");
    await field("Country").selectOption("DE");
    await field("Time zone").selectOption("Europe/Berlin");
    await field("Contact e-mail address").fill(CONTACT);
    assert.equal(await owner.press("Save"), 303);
    assert.equal(await field("Contact e-mail address").inputValue(), CONTACT);
  });
  await lookAtSettings("privacy-problems", async () => {
    await owner.go("/dashboard/settings/privacy");
    await field("Privacy text").fill("word ".repeat(4_001));
    assert.equal(await owner.press("Save"), 422);
    await requireLeadsToField(owner.page, owner.page.getByRole("alert").getByRole("link"));
  });
  await lookAtSettings("privacy", async () => {
    await field("Privacy text").fill(PRIVACY_TEXT);
    assert.equal(await owner.press("Save"), 303);
    assert.equal(await field("Privacy text").inputValue(), PRIVACY_TEXT);
  });

  const logos = [];
  visitor.elsewhere.add(new URL(LOGO).origin);
  await visitor.context.route(LOGO, (route) => {
    logos.push(route.request().headers().referer);
    return route.fulfill({ contentType: "image/svg+xml", body: PICTURE });
  });
  await step("the pages show the organization's branding and load nothing but the logo from other sites", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    await visitor.go(PORTAL);
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), `Openings at ${BRANDING.Name}`);
    assert.ok(await page.getByText(BRANDING.Introduction, { exact: true }).isVisible());
    const logo = page.getByRole("banner").locator("img");
    assert.equal(await logo.getAttribute("src"), LOGO);
    assert.ok(await logo.evaluate(({ naturalWidth }) => naturalWidth > 0), "the logo is shown");
    assert.deepEqual(new Set(logos), new Set([undefined]), "the request for the logo has no referrer");
    await visitor.go(`${PORTAL}/${postings[0].slug}`);
    const [button] = await page.getByRole("button", { name: "Submit application" }).all();
    assert.equal(await button.evaluate((button) => getComputedStyle(button).backgroundColor), "rgb(155, 28, 74)");
  });
  await show("careers-branded-list", PORTAL);
  await show("careers-branded-job", `${PORTAL}/${postings[2].slug}`);
  await look("careers-branded-privacy", async () => {
    assert.equal(await visitor.go(`${PORTAL}/privacy`), 200);
    assert.ok(await page.getByText("for one year").isVisible());
    const contact = page.getByRole("link", { name: CONTACT });
    assert.equal(await contact.getAttribute("href"), "mailto:privacy%26data@acme.example");
  });
  await show("careers-branded-unknown", `${PORTAL}/no-such-job`, 404);

  const buffer = await page.getByRole("heading", { level: 1 }).screenshot();
  const picture = { name: "logo.png", mimeType: "image/png", buffer };
  const file = owner.page.locator("input[type=file]");
  await lookAtSettings("career-page-logo-problem", async () => {
    await owner.go(SETTINGS);
    await file.setInputFiles({ ...picture, buffer: Buffer.from(PICTURE) });
    assert.equal(await owner.press("Upload logo"), 422);
    await requireLeadsToField(owner.page, owner.page.getByRole("alert").getByRole("link"));
  });
  await lookAtSettings("career-page-logo", async () => {
    await file.setInputFiles(picture);
    assert.equal(await owner.press("Upload logo"), 303);
    assert.ok(await owner.page.getByAltText("Current logo").evaluate(({ naturalWidth }) => naturalWidth > 0));
  });
  await look("careers-uploaded-logo", async () => {
    assert.equal(await visitor.go(PORTAL), 200);
    const logo = page.getByRole("banner").locator("img");
    assert.match(await logo.getAttribute("src"), /^\/careers\/acme\/logo\.image\//);
    assert.ok(await logo.evaluate(({ naturalWidth }) => naturalWidth > 0), "the logo is shown");
  });
  await step("the logo is removed", async () => {
    assert.equal(await owner.press("Remove the logo"), 303);
    await visitor.go(PORTAL);
    assert.equal(await page.getByRole("banner").locator("img").getAttribute("src"), LOGO);
  });
}

/** Applies as a new candidate. Returns the response's status. */
async function apply(visitor, job) {
  await visitor.go(job);
  await visitor.page.getByLabel("Name", { exact: true }).fill("Ada Lovelace");
  await visitor.page.getByLabel("E-mail address").fill(`ada.${Math.random()}@example.org`);
  await visitor.page.getByRole("checkbox").first().check();
  await asLongAsAPerson(visitor.page);
  return visitor.press("Submit application");
}

const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="60" viewBox="0 0 120 60">
<path fill="#9b1c4a" d="M0 30 30 0l30 30-30 30zM60 30 90 0l30 30-30 30z"/></svg>`;
