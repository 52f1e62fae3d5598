// The pictures of the README: a board and a career page of the demo company.
//
// Usage: node pictures.mjs ROLECALL FOLDER

import { stat } from "node:fs/promises";
import { chromium } from "playwright-core";

import { start } from "./service.mjs";

const SIZE = { width: 1280, height: 1000 };
/** The maximum size of a picture in bytes. */
const MAX_BYTES = 150_000;

const [binary, folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node pictures.mjs ROLECALL FOLDER");
  process.exit(2);
}
const service = await start(binary, ["--demo"]);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const context = await browser.newContext({ baseURL: service.base, viewport: SIZE, colorScheme: "light" });
const page = await context.newPage();

/** Takes a picture, which must not be too large for a README. */
async function take(name) {
  const path = `${folder}/${name}.png`;
  await page.screenshot({ path });
  const { size } = await stat(path);
  if (size > MAX_BYTES) {
    throw new Error(`${path} has ${size} bytes, more than ${MAX_BYTES}`);
  }
  console.log(`${path}: ${size} bytes`);
}

await page.goto("/dashboard/sign-in");
await page.getByLabel("E-mail address").fill(service.acme.owner.email);
await page.getByLabel("Password").fill(service.acme.owner.password);
await page.getByRole("button", { name: "Sign in" }).click();
await page.waitForURL(/dashboard$/);
await page.goto("/dashboard/roles?status=open");
const counts = await page.locator("td[data-label=Applicants]").allInnerTexts();
const most = counts.map(Number).reduce((best, count, index, all) => (count > all[best] ? index : best), 0);
await page.getByRole("rowheader").nth(most).getByRole("link").click();
await page.waitForURL(/roles\/\d+/);

await take("board");
await page.goto("/careers/acme");
await take("careers");
await browser.close();
await service.stop();
