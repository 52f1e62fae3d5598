// Browser tests: they visit the service with Chromium and report every step. Each subject starts its own service.
//
// Usage: node run.mjs ROLECALL SCREENSHOTS [WORD]
// With WORD, runs only the subjects whose name contains it. `node run.mjs ROLECALL infra/pictures pictures` renews the
// pictures of the README.

import { mkdir } from "node:fs/promises";
import { chromium } from "playwright-core";

import * as account from "./account.mjs";
import * as apiKeys from "./api_keys.mjs";
import * as careers from "./careers.mjs";
import * as careersFacts from "./careers_facts.mjs";
import * as careersFeeds from "./careers_feeds.mjs";
import * as careersKeyboard from "./careers_keyboard.mjs";
import * as careersPages from "./careers_pages.mjs";
import * as careersQuestions from "./careers_questions.mjs";
import * as careersXss from "./careers_xss.mjs";
import * as clicks from "./clicks.mjs";
import * as connectedApps from "./connected_apps.mjs";
import * as jobPosting from "./job_posting.mjs";
import * as keyboard from "./keyboard.mjs";
import * as members from "./members.mjs";
import * as otherSites from "./other_sites.mjs";
import * as pages from "./pages.mjs";
import * as passkeys from "./passkeys.mjs";
import * as pictures from "./pictures.mjs";
import * as reference from "./reference.mjs";
import { start } from "./service.mjs";
import * as signIn from "./sign_in.mjs";
import * as triage from "./triage.mjs";
import { Visitor } from "./visitor.mjs";
import * as webhooks from "./webhooks.mjs";
import * as work from "./work.mjs";

const WITHOUT_SCRIPTS = { javaScriptEnabled: false };
/** The subjects, longest first, some with options of the service. */
const SUBJECTS = [
  ["careers, hostile customers", careersXss.byCustomers],
  ["careers, hostile applicants and members", careersXss.byOthers],
  ["pages of an organization in use", pages.ofOrganizationInUse],
  ["work", work.visit],
  ["work without scripts", (world) => work.visit(world, WITHOUT_SCRIPTS)],
  ["triage", triage.visit],
  ["pages of a new organization", pages.ofNewOrganization],
  ["pages without a session", pages.withoutSession],
  ["careers pages", careersPages.forCandidates],
  ["careers pages with branding", careersPages.withBranding],
  ["careers", careers.visit],
  ["careers without scripts", (world) => careers.visit(world, WITHOUT_SCRIPTS)],
  ["API reference", reference.visit],
  ["API reference, pages", reference.pages],
  ["API reference without scripts", reference.withoutScripts],
  ["careers, questions", (world) => careersQuestions.visit(world, WITHOUT_SCRIPTS)],
  ["careers, feeds", careersFeeds.visit],
  ["careers, markup", jobPosting.visit],
  ["careers, facts", careersFacts.visit],
  ["careers by keyboard", careersKeyboard.visit],
  ["webhooks", webhooks.visit],
  ["members", members.visit],
  ["other sites", otherSites.visit],
  ["sign-in", signIn.visit],
  ["sign-in without scripts", (world) => signIn.visit(world, WITHOUT_SCRIPTS)],
  ["account", account.visit],
  ["account without scripts", (world) => account.visit(world, WITHOUT_SCRIPTS)],
  ["passkeys", passkeys.visit],
  ["passkeys without scripts", passkeys.withoutScripts],
  ["keyboard", keyboard.visit],
  ["connected apps", connectedApps.visit],
  ["API keys", apiKeys.visit],
  ["clicks", clicks.count],
  ["clicks without scripts", (world) => clicks.count(world, WITHOUT_SCRIPTS)],
  ["pictures", pictures.take, pictures.SERVICE],
  ["API keys without scripts", (world) => apiKeys.visit(world, WITHOUT_SCRIPTS)],
];
/** The number of subjects that run at the same time. */
const AT_ONCE = 3;

/** Ends a subject after a failed step, which is already reported. */
class StepFailed extends Error {}

const [binary, screenshots, word = ""] = process.argv.slice(2);
if (!screenshots) {
  console.error("usage: node run.mjs ROLECALL SCREENSHOTS [WORD]");
  process.exit(2);
}
await mkdir(screenshots, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox"],
});
let passed = 0;
let failed = 0;
const waiting = SUBJECTS.filter(([name]) => name.includes(word));
const visits = Array.from({ length: AT_ONCE }, async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    await subject(...next);
  }
});
await Promise.all(visits);
await browser.close();
console.log(`${passed} steps passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;

/** Runs a subject. It ends at its first failed step; the other subjects continue. */
async function subject(name, visit, options) {
  const service = await start(binary, options);
  const visitors = [];
  const open = async (options) => {
    const visitor = await Visitor.open(browser, service, options);
    visitors.push(visitor);
    return visitor;
  };
  const step = async (sentence, action) => {
    const started = performance.now();
    try {
      const result = await action();
      visitors.forEach((visitor) => visitor.requireNoComplaints());
      passed += 1;
      console.log(`ok    ${name}: ${sentence} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
      return result;
    } catch (error) {
      report(`${name}: ${sentence}`, error, visitors.flatMap(({ complaints }) => complaints.splice(0)));
      for (const [place, { page }] of visitors.entries()) {
        const path = `${screenshots}/failed-${failed}-${place + 1}.png`;
        await page.screenshot({ path, fullPage: true }).catch(() => {});
      }
      throw new StepFailed();
    }
  };
  try {
    await visit({ service, open, step, screenshots });
    await step("the log has no secrets and no personal data", () => service.requireCleanLog());
  } catch (error) {
    if (!(error instanceof StepFailed)) {
      report(`${name}, between steps`, error);
    }
  }
  await Promise.all(visitors.map(({ context }) => context.close()));
  await service.stop();
}

function report(what, error, noticed = []) {
  failed += 1;
  const detail = [error.stack ?? error, ...noticed].join("\n").replace(/^/gm, "      ");
  console.log(`FAIL  ${failed}. ${what}\n${detail}`);
}
