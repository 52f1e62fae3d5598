// Checks a page on a phone, a tablet and a desktop, in light and dark mode: accessibility and overflow. SCREENSHOTS=1 also
// takes a screenshot of each.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
export const PHONE = { width: 390, height: 844 };
/** The sizes, each with its colour schemes. A tablet has the dark colours of the others. */
const SIZES = [
  { viewport: PHONE, schemes: ["light", "dark"] },
  { viewport: { width: 768, height: 1024 }, schemes: ["light"] },
  { viewport: { width: 1440, height: 900 }, schemes: ["light", "dark"] },
];
/** The rules for each colour scheme. The dark one differs only in its colours. */
const RULES = {
  light: STANDARDS,
  dark: { type: "rule", values: ["color-contrast", "link-in-text-block"] },
};
/** The narrowest screen that a page must fit (WCAG 1.4.10). */
const NARROWEST = { width: 320, height: 812 };

/**
 * Returns steps that open a page, by an action or by path and status, and check it. A failed step does not end the
 * subject.
 */
export function looking({ step, screenshots }, visitor) {
  const look = (name, action) =>
    step(name, async () => {
      await action();
      await checkEveryLook(visitor.page, name, screenshots);
    }).catch(() => {});
  const show = (name, path, status = 200) => look(name, async () => assert.equal(await visitor.go(path), status));
  return { look, show };
}

/** Checks the current page in every size and its colour schemes. */
async function checkEveryLook(page, name, screenshots) {
  for (const { viewport, schemes } of SIZES) {
    await page.setViewportSize(viewport);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      if (process.env.SCREENSHOTS) {
        // A JPEG takes half as long as a PNG.
        const path = `${screenshots}/${name}-${viewport.width}-${colorScheme}.jpg`;
        await page.screenshot({ path, quality: 80, fullPage: true });
      }
      const isOpen = await page.locator("[popover]:popover-open").count();
      if (!isOpen) {
        await setDetails(page, true);
      }
      assert.deepEqual(await violations(page, RULES[colorScheme]), [], `${viewport.width}, ${colorScheme}`);
      assert.equal(await overflow(page), 0, `pixels too wide at ${viewport.width}`);
      await setDetails(page, false);
    }
  }
  assert.deepEqual(await alike(page), [], "chosen, but like the others in high contrast");
  await page.setViewportSize(NARROWEST);
  assert.equal(await overflow(page), 0, `pixels too wide at ${NARROWEST.width}`);
}

/** Returns the chosen links and buttons that look like one beside them in high contrast, which replaces all colours. */
async function alike(page) {
  await page.emulateMedia({ forcedColors: "active" });
  const found = await page.evaluate(() => {
    const chosen = '[aria-current], [aria-pressed="true"]';
    const looks = (element) => {
      const { color, backgroundColor, borderTopColor, borderInlineStartColor, fontWeight } = getComputedStyle(element);
      return [color, backgroundColor, borderTopColor, borderInlineStartColor, fontWeight].join();
    };
    const isLikeAnother = (element) =>
      [...element.closest("nav, form").querySelectorAll(element.localName)].some(
        (other) => !other.matches(chosen) && looks(other) === looks(element),
      );
    return [...document.querySelectorAll(chosen)].filter(isLikeAnother).map(({ outerHTML }) => outerHTML);
  });
  await page.emulateMedia({ forcedColors: "none" });
  return found;
}

async function setDetails(page, open) {
  await page.locator("details").evaluateAll((found, open) => found.forEach((details) => (details.open = open)), open);
}

async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Returns the violations of the rules, and where they are. */
async function violations(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.evaluate(AXE);
  }
  // The only frames show PDFs of another origin, which cannot answer.
  const options = { runOnly: rules, resultTypes: ["violations"], iframes: false };
  const found = await page.evaluate((options) => axe.run(options), options);
  const where = (nodes) => nodes.slice(0, 3).map(({ html }) => html);
  return found.violations.map(({ id, help, nodes }) => ({ id, help, where: where(nodes) }));
}

/** Asserts that the link of a problem focuses its field and scrolls the message beside it into view. */
export async function requireLeadsToField(page, problem) {
  const sentence = await problem.innerText();
  await problem.click();
  const field = page.locator(":focus");
  assert.equal(await field.getAttribute("aria-invalid"), "true", sentence);
  const [beside] = (await field.getAttribute("aria-describedby")).split(" ").slice(-1);
  const message = page.locator(`#${beside}`);
  assert.equal(await message.innerText(), sentence);
  assert.ok(await isOnScreen(message), `${sentence} is not on the screen`);
}

/** Returns whether the whole height of the element is in the viewport. */
export async function isOnScreen(locator) {
  return locator.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
}
