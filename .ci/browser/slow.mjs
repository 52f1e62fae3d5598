// A benchmark: how long pages of the demo company take on slow 4G with a processor that is four times slower. It prints a
// table, and no lane runs it, because times depend on the machine.
//
// Usage: node slow.mjs ROLECALL

import { chromium } from "playwright-core";

import { start } from "./service.mjs";

/** Lighthouse's slow 4G. */
const CONNECTION = { offline: false, latency: 150, downloadThroughput: 204_800, uploadThroughput: 96_000 };
const CPU_SLOWDOWN = 4;
/** How often each page is opened. */
const ROUNDS = 5;

const [binary] = process.argv.slice(2);
if (!binary) {
  console.error("usage: node slow.mjs ROLECALL");
  process.exit(2);
}
const service = await start(binary, ["--demo"]);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox"],
});
const context = await browser.newContext({ baseURL: service.base, viewport: { width: 390, height: 844 } });
const page = await context.newPage();
await page.goto("/dashboard/sign-in");
await page.getByLabel("E-mail address").fill(service.acme.owner.email);
await page.getByLabel("Password").fill(service.acme.owner.password);
await page.getByRole("button", { name: "Sign in" }).click();
await page.waitForURL(/dashboard$/);

/** Returns the address of the first link in a list. */
async function first(list, pattern) {
  await page.goto(list);
  const links = await page.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  return links.find((link) => pattern.test(link));
}

const role = await first("/dashboard/roles?status=open", /^\/dashboard\/roles\/\d+$/);
const candidate = await first("/dashboard/candidates?stage=offer", /^\/dashboard\/candidates\/\d+/);
const opening = await first("/careers/acme", /^\/careers\/acme\/.+/);
const paths = [
  "/",
  "/dashboard",
  "/dashboard/roles",
  role,
  `${role}/edit`,
  "/dashboard/candidates",
  candidate,
  "/dashboard/quick-post",
  "/dashboard/settings/integrations/api-keys",
  "/careers/acme",
  opening,
  "/docs",
];
const session = await context.newCDPSession(page);
await session.send("Network.enable");
await session.send("Network.setCacheDisabled", { cacheDisabled: true });
await session.send("Network.emulateNetworkConditions", CONNECTION);
await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
let size = 0;
session.on("Network.loadingFinished", ({ encodedDataLength }) => (size += encodedDataLength));

console.log("| Page | Bytes | Loaded after, median of %d, ms |\n|---|---|---|", ROUNDS);
for (const path of paths) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    size = 0;
    const started = performance.now();
    await page.goto(path, { waitUntil: "load" });
    times.push(performance.now() - started);
  }
  const median = times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  console.log(`| \`${path.replace(/\d{6,}/g, "{id}")}\` | ${size} | ${Math.round(median)} |`);
}
await browser.close();
await service.stop();
