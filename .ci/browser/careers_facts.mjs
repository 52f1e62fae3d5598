// The weight of the career pages, measured on an emulated phone with a slow connection. Sizes and counts have limits.
// Times are only printed, because they also depend on the machine.

import assert from "node:assert/strict";

import { publish } from "./careers_content.mjs";
import { PHONE } from "./looks.mjs";

const PORTAL = "/careers/acme";
/** A slow 4G connection and a mid-range phone, as Lighthouse emulates them. */
const CONNECTION = {
  offline: false,
  latency: 150,
  downloadThroughput: (1_638.4 * 1_024) / 8,
  uploadThroughput: (750 * 1_024) / 8,
};
const CPU_SLOWDOWN = 4;
const MID_RANGE_PHONE = { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
/** The limits in bytes: of the HTML before its compression, and of the stylesheet as sent, with headers. */
const LIMITS = { html: 40_000, css: 14_000, shift: 0.01 };

export async function visit({ service, open, step }) {
  const key = service.acme.live;
  const postings = await publish(service, key, 60);

  // The page and its stylesheet, and the script of the form.
  for (const [name, path, requests] of [
    ["list of 50 openings", PORTAL, 2],
    ["an opening", `${PORTAL}/${postings.at(-1).slug}`, 3],
  ]) {
    await step(`${name}: small, without layout shift or third-party requests`, async () => {
      const facts = await measure(await open(MID_RANGE_PHONE), service.base + path);
      console.log(`facts ${name}: ${describe(facts)}`);
      assert.ok(facts.html <= LIMITS.html, `${facts.html} bytes of HTML`);
      assert.ok(facts.css <= LIMITS.css, `${facts.css} bytes of stylesheet`);
      assert.equal(facts.requests, requests);
      assert.equal(facts.thirdParty, 0);
      assert.ok(facts.shift < LIMITS.shift, `layout shift ${facts.shift}`);
    });
  }

  await step("the stylesheet is cached for a year", async () => {
    const { page } = await open();
    await page.goto(PORTAL);
    const { headers } = await fetch(
      new URL(await page.locator("link[rel=stylesheet]").getAttribute("href"), service.base),
    );
    assert.match(headers.get("cache-control"), /max-age=31536000, immutable/);
  });
}

/** Measures a first visit. */
async function measure({ context, page }, address) {
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", CONNECTION);
  await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
  const kinds = new Map();
  const requests = [];
  session.on("Network.requestWillBeSent", ({ requestId, request, type }) => {
    if (!request.url.startsWith("data:")) {
      kinds.set(requestId, type);
      requests.push(request.url);
    }
  });
  const sizes = { Document: 0, Stylesheet: 0 };
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    sizes[kinds.get(requestId)] += encodedDataLength;
  });
  await page.addInitScript(() => {
    window.facts = { shift: 0 };
    const observe = (type, note) =>
      new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
    observe("layout-shift", ({ value }) => (window.facts.shift += value));
    observe("largest-contentful-paint", ({ startTime }) => (window.facts.largestPaint = startTime));
    observe("paint", ({ name, startTime }) => (window.facts[name] = startTime));
  });
  const response = await page.goto(address, { waitUntil: "load" });
  await page.waitForFunction(() => window.facts.largestPaint > 0);
  // Scroll to the end, because lazily loaded content would also shift the page.
  const metrics = await page.evaluate(async () => {
    scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return window.facts;
  });
  const { origin } = new URL(address);
  return {
    html: (await response.body()).length,
    sent: sizes.Document,
    css: sizes.Stylesheet,
    requests: requests.length,
    thirdParty: requests.filter((url) => new URL(url).origin !== origin).length,
    shift: metrics.shift,
    firstPaint: metrics["first-contentful-paint"],
    largestPaint: metrics.largestPaint,
  };
}

function describe({ html, sent, css, requests, thirdParty, shift, firstPaint, largestPaint }) {
  return [
    `HTML ${html} bytes (${sent} as sent)`,
    `stylesheet ${css} bytes as sent`,
    `${requests} requests, ${thirdParty} to third parties`,
    `layout shift ${shift.toFixed(4)}`,
    `paints ${Math.round(firstPaint)} ms (first), ${Math.round(largestPaint)} ms (largest) on slow 4G, 1/4 of the CPU`,
  ].join(", ");
}
