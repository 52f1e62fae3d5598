// The API reference: its pages, the search, the samples and the forms that send requests.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Script } from "node:vm";

import { looking, PHONE } from "./looks.mjs";

const run = promisify(execFile);

/** The maximum size of the first page with all its files, in bytes over the wire. */
const MAX_SIZE = 40_000;
/** A slow 4G connection, on a device with a quarter of the CPU speed. */
const CONNECTION = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };
const CPU_SLOWDOWN = 4;
/** The script of the pages. */
const SCRIPT = /\/docs\/reference\.js/;
const MARKUP = "<img src=x onerror=alert(1)>";
/** The key in `localStorage` of the chosen language, the only thing that the pages store. */
const LANGUAGE = "rolecall-docs-language";

/** The kinds of pages, in every look. */
export async function pages(world) {
  const visitor = await world.open();
  const { page } = visitor;
  const { look, show } = looking(world, visitor);
  await show("reference-start", "/docs");
  await show("reference-guide", "/docs/guide-responses");
  await show("reference-operations", "/docs/applications");
  await look("reference-form", async () => {
    await visitor.go("/docs/organization");
    await tried(page, "show_organization");
    await response(page, "show_organization", world.service.acme.test);
  });
  await look("reference-menu", async () => {
    await page.setViewportSize(PHONE);
    await visitor.go("/docs/quick-post");
    await page.getByRole("button", { name: "Menu" }).click();
  });
  await look("reference-search", async () => {
    await visitor.go("/docs/quick-post");
    await page.getByRole("searchbox").fill("idempotency");
    await page.locator(".results a").first().waitFor();
  });
}

/** What the script adds. */
export async function visit({ service, open, step }) {
  const { acme } = service;
  const visitor = await open();
  const { page } = visitor;

  await step("the first page is small, and nothing moves on a slow phone", async () => {
    const session = await visitor.context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", CONNECTION);
    await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
    let size = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => (size += encodedDataLength));
    const started = performance.now();
    await visitor.go("/docs");
    await page.getByRole("searchbox").waitFor();
    const time = performance.now() - started;
    assert.ok(size > 5_000 && size < MAX_SIZE, `${size} bytes`);
    console.log(`      ${size} bytes; the search was usable after ${Math.round(time)} ms on this machine`);
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    await page.setViewportSize(PHONE);
    await page.addInitScript(() => {
      window.painted = async () => {
        for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
      };
      window.shift = 0;
      const add = (entries) => entries.forEach(({ value }) => (window.shift += value));
      const observer = new PerformanceObserver((list) => add(list.getEntries()));
      window.shifted = () => add(observer.takeRecords()) ?? window.shift;
      window.observe = () => observer.observe({ type: "layout-shift" });
    });
    // A line of text can wrap when the rest of it arrives, so the script starts only after the whole page is painted.
    await page.route(SCRIPT, async (route) => {
      await page.waitForFunction(() => document.readyState !== "loading");
      await page.evaluate(async () => {
        await window.painted();
        window.observe();
      });
      await route.continue();
    });
    await visitor.go("/docs/candidates#hire_candidate");
    await page.getByText("Try it").first().waitFor();
    const shift = await page.evaluate(async () => {
      await window.painted();
      return window.shifted();
    });
    assert.equal(shift, 0, "the page moves when the script starts");
    await page.unroute(SCRIPT);
    await page.setViewportSize({ width: 1280, height: 900 });
    await session.send("Network.setCacheDisabled", { cacheDisabled: false });
    await session.send("Network.emulateNetworkConditions", { ...CONNECTION, latency: 0, downloadThroughput: -1 });
    await session.send("Emulation.setCPUThrottlingRate", { rate: 1 });
    await session.detach();
  });

  await step("the search finds operations, fields and the guide, by keyboard", async () => {
    await page.keyboard.press("Control+k");
    const search = page.getByRole("searchbox");
    const first = page.locator(".results a").first();
    const finds = async (words, title) => {
      await search.fill(words);
      await page.locator(".results a").getByText(title, { exact: false }).first().waitFor();
      assert.ok((await first.innerText()).startsWith(title), `${words}: ${await first.innerText()}`);
    };
    await finds("strong If-None-Match", "Concurrency");
    await finds("/api/v1/audit_log", "List audit log");
    await finds("legal hold set", "Set legal hold");
    await search.fill("zeppelin");
    await page.getByText("No results").waitFor();
    await finds("unreject", "Unreject candidate");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL("/docs/candidates#unreject_candidate");
    assert.ok(await page.getByRole("heading", { name: "Unreject candidate" }).isVisible());
    await page.getByRole("navigation").getByRole("link", { name: "Unreject candidate", current: true }).waitFor();
  });

  await step("the language of samples is kept, and nothing else", async () => {
    const shown = page.locator("#unreject_candidate").locator("xpath=ancestor::section").locator(".samples pre:visible");
    assert.match(await shown.innerText(), /^curl -X POST http:\/\/127\.0\.0\.1:\d+\/api\/v1\/candidates\/\d+\/unreject/);
    await page.locator("label[for=unreject_candidate-2]").click();
    assert.match(await shown.innerText(), /httpx\.post\(/);
    await visitor.go("/docs/roles");
    assert.match(await page.locator(".samples pre:visible").first().innerText(), /httpx\.get\(/);
    await page.locator("label[for=list_roles-3]").click();
    assert.match(await page.locator(".samples pre:visible").last().innerText(), /await fetch\(/);
    assert.deepEqual(await stored(page), [[LANGUAGE, "TypeScript"]]);
  });

  await step("samples in curl and TypeScript run as shown, and those of all operations have the right syntax", async () => {
    for (const [name, operation] of [["organization", "show_organization"], ["quick-post", "create_quick_post"]]) {
      await visitor.go(`/docs/${name}`);
      const codes = page.locator("section", { has: page.locator(`#${operation}`) }).locator(".samples pre");
      const [curl, , typescript] = await codes.evaluateAll((codes) => codes.map(({ textContent }) => textContent));
      const options = { env: { ...process.env, ROLECALL_KEY: acme.test, no_proxy: "*" } };
      for (const [command, ...words] of [
        ["bash", "-c", curl],
        [process.execPath, "--input-type=module", "--eval", typescript],
      ]) {
        const { stdout } = await run(command, words, options);
        assert.match(stdout, operation === "show_organization" ? /Acme/ : /careers\/acme-test/, command);
      }
    }
    const samples = await page.evaluate(async () => {
      const pages = new Set([...document.querySelectorAll("nav details a")].map(({ pathname }) => pathname));
      const texts = await Promise.all([...pages].map(async (path) => (await fetch(path)).text()));
      const parsed = texts.map((text) => new DOMParser().parseFromString(text, "text/html"));
      return parsed.flatMap((page) => [...page.querySelectorAll(".samples pre:nth-of-type(3)")].map((code) => code.textContent));
    });
    samples.forEach((code) => new Script(`(async () => {${code}\n})`));
    assert.ok(samples.length >= 50, `${samples.length} samples`);
  });

  await step("a form reads with a key and without the session", async () => {
    await visitor.signIn(acme.owner);
    await visitor.go("/docs/organization");
    const output = await tried(page, "show_organization");
    const [request] = await Promise.all([
      page.waitForRequest(`${service.base}/api/v1/organization`),
      response(page, "show_organization", acme.live),
    ]);
    const headers = await request.allHeaders();
    assert.equal(headers.authorization, `Bearer ${acme.live}`);
    assert.equal(headers.cookie, undefined);
    assert.equal(headers.referer, undefined);
    assert.match(await output.innerText(), /^200 OK[^]*x-request-id: [^]*"name": "Acme"/);
    await response(page, "show_organization", "rc_test_wrong");
    assert.match(await output.innerText(), /^401 [^]*www-authenticate: Bearer[^]*"code": "unauthorized"/);
  });

  await step("markup in a response is text", async () => {
    await visitor.go("/docs/roles");
    const output = await tried(page, "create_role");
    const form = page.locator("section", { has: page.locator("#create_role") }).locator("form");
    await form.getByLabel("Body", { exact: true }).fill(JSON.stringify({ title: MARKUP }));
    await response(page, "create_role", acme.test);
    assert.ok((await output.innerText()).includes(`"title": "${MARKUP}"`));
    assert.equal(await output.locator("img").count(), 0);
    await form.getByLabel("Body", { exact: true }).fill("{");
    await form.getByRole("button").click();
    await output.getByText("400 Bad Request").waitFor();
  });

  await step("a live key writes only after a question", async () => {
    const sent = [];
    page.on("request", (request) => sent.push(request.method()));
    const section = page.locator("section", { has: page.locator("#create_role") });
    await section.getByLabel("API key").fill(acme.live);
    await section.getByLabel("Body", { exact: true }).fill(JSON.stringify({ title: "Cook" }));
    const send = section.getByRole("button", { name: "Send POST" });
    const dialog = page.getByRole("dialog", { name: "Change live data?" });
    await send.click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await section.getByText("Nothing was sent.").waitFor();
    await send.click();
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(sent, []);
    await send.click();
    await dialog.getByRole("button", { name: "Send" }).click();
    await section.locator("output").getByText("201 Created").waitFor();
    assert.deepEqual(sent, ["POST"]);
    const { body } = await service.call(acme.live, "GET", "/api/v1/roles");
    assert.deepEqual(body.data.map(({ title }) => title), ["Cook"]);
  });

  await step("a form fills in the path, the query and the headers", async () => {
    const { body } = await service.call(acme.live, "GET", "/api/v1/roles");
    const [{ id }] = body.data;
    const output = await tried(page, "show_role");
    const show = page.locator("section", { has: page.locator("#show_role") });
    assert.equal(await show.getByLabel("API key").inputValue(), acme.live);
    await show.getByLabel("id", { exact: true }).fill(String(id));
    await show.getByRole("button", { name: "Send GET" }).click();
    await output.getByText("200 OK").waitFor();
    const etag = (await output.innerText()).match(/etag: (".*")/)[1];
    await show.getByLabel("If-None-Match").fill(etag);
    await show.getByRole("button", { name: "Send GET" }).click();
    await output.getByText("304 Not Modified").waitFor();
    const listed = await tried(page, "list_roles");
    const list = page.locator("section", { has: page.locator("#list_roles") });
    await list.getByLabel("status (optional)").selectOption("open");
    await list.getByLabel("limit (optional)").fill("101");
    await list.getByRole("button", { name: "Send GET" }).click();
    await listed.getByText("422 Unprocessable Entity").waitFor();
  });

  await step("the key is gone with the page", async () => {
    assert.deepEqual(await stored(page), [[LANGUAGE, "TypeScript"]]);
    await page.reload();
    await tried(page, "show_role");
    const show = page.locator("section", { has: page.locator("#show_role") });
    assert.equal(await show.getByLabel("API key").inputValue(), "");
    assert.deepEqual(await stored(page), [[LANGUAGE, "TypeScript"]]);
  });
}

/** Without scripts, the pages show everything, and no search and no forms. */
export async function withoutScripts({ open, step }) {
  const visitor = await open({ javaScriptEnabled: false, viewport: PHONE });
  const { page } = visitor;
  await step("the menu, the fields and the samples of all languages are there", async () => {
    assert.equal(await visitor.go("/docs"), 200);
    await page.getByRole("button", { name: "Menu" }).click();
    const menu = page.getByRole("navigation");
    await menu.getByText("Roles", { exact: true }).first().click();
    await menu.getByRole("link", { name: "Create role" }).click();
    await page.waitForURL("/docs/roles#create_role");
    const section = page.locator("section", { has: page.locator("#create_role") });
    assert.match(await section.innerText(), /remote_policy\s+string or null/);
    const sample = section.locator(".samples pre:visible");
    assert.match(await sample.innerText(), /^curl -X POST/);
    await section.getByText("TypeScript").click();
    assert.match(await sample.innerText(), /^const response = await fetch/);
    await section.getByText(/^Errors/).click();
    assert.match(await section.innerText(), /validation_failed: one or more fields are invalid/);
    assert.equal(await page.locator(".search:visible, .try:visible, .copy:visible").count(), 0);
  });
}

/** Opens the form of an operation. Returns its output. */
async function tried(page, operation) {
  const section = page.locator("section", { has: page.locator(`#${operation}`) });
  await section.getByText("Try it").click();
  await section.locator("form").waitFor();
  return section.locator("output");
}

/** Sends the form of an operation with a key, and waits for the response. */
async function response(page, operation, key) {
  const section = page.locator("section", { has: page.locator(`#${operation}`) });
  await section.getByLabel("API key").fill(key);
  await section.getByRole("button", { name: /^Send/ }).click();
  await section.locator("output strong").waitFor();
  await section.locator("button[disabled]").waitFor({ state: "detached" });
}

/** Returns what the pages have stored in the browser. */
async function stored(page) {
  return page.evaluate(() => [...Object.entries(localStorage), ...Object.entries(sessionStorage)]);
}
