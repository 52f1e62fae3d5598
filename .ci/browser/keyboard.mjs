// Keyboard only: every control is reachable and usable, and the focus is always visible.

import assert from "node:assert/strict";

const PATH = "/dashboard/settings/integrations/api-keys";
/** More tab stops than any page has. */
const MAX_STOPS = 80;

export async function visit({ service, open, step }) {
  const visitor = await open({ reducedMotion: "reduce" });
  const { page } = visitor;
  const { keyboard } = page;

  await step("the first stop skips the header", async () => {
    await visitor.go("/dashboard/sign-in");
    assert.equal(await next(page), "Skip to content");
    assert.ok(await page.getByRole("link", { name: "Skip to content" }).isVisible());
    await keyboard.press("Enter");
    assert.equal(await next(page), "E-mail address");
  });

  await step("sign in", async () => {
    await keyboard.type(service.acme.owner.email);
    await tabTo(page, "Password");
    await keyboard.type(service.acme.owner.password);
    assert.equal(await visitor.sends(() => keyboard.press("Enter")), 303);
  });

  await step("every stop of a page is visible and has a name", async () => {
    await tabTo(page, "API keys");
    await Promise.all([page.waitForEvent("load"), keyboard.press("Enter")]);
    assert.equal(visitor.path(), PATH);
    const stops = [];
    for (let stop = await next(page); stop !== null; stop = await next(page)) {
      assert.ok(stop, `the stop after ${stops.at(-1)} has no name`);
      assert.ok(await isFocusVisible(page), `the focus on ${stop} is not visible`);
      stops.push(stop);
      assert.ok(stops.length < MAX_STOPS, `the focus never leaves the page: ${stops}`);
    }
    for (const expected of ["API keys", "Account", "Sign out", "Name", "Expires after (days)", "Create key"]) {
      assert.ok(stops.includes(expected), `${expected} is not among ${stops}`);
    }
  });

  const secret = await step("create a key with one scope", async () => {
    await tabTo(page, "Name");
    await keyboard.type("By keyboard");
    for (;;) {
      const stop = await next(page);
      if (stop === "Expires after (days)") {
        break;
      }
      // At first, the permissions that only read are ticked.
      if (/(candidates|voice_screens|channels|organization):read$/.test(stop)) {
        await keyboard.press("Space");
      }
    }
    await tabTo(page, "Create key");
    assert.equal(await visitor.sends(() => keyboard.press("Enter")), 200);
    await tabTo(page, "API key");
    const secret = await page.getByLabel("API key", { exact: true }).inputValue();
    assert.equal((await service.call(secret, "GET", "/api/v1/roles")).status, 200);
    assert.equal((await service.call(secret, "GET", "/api/v1/candidates")).status, 403);
    return secret;
  });

  await step("revoke it", async () => {
    await tabTo(page, "Revoke By keyboard");
    await keyboard.press("Enter");
    await tabTo(page, "Revoke By keyboard now");
    assert.equal(await visitor.sends(() => keyboard.press("Space")), 303);
    assert.equal((await service.call(secret, "GET", "/api/v1/roles")).status, 401);
  });

  await step("open and close the menu on a phone", async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    await visitor.go("/dashboard");
    const menu = page.getByRole("navigation", { name: "Dashboard" });
    assert.ok(!(await menu.isVisible()));
    await tabTo(page, "Menu");
    await keyboard.press("Enter");
    assert.ok(await menu.isVisible());
    await tabTo(page, "Roles", 4);
    assert.ok(await isFocusVisible(page));
    await keyboard.press("Escape");
    assert.ok(!(await menu.isVisible()));
    assert.equal(await name(page), "Menu");
  });
}

/** Moves to the next stop. Returns its name, or null at the end of the page. */
export async function next(page) {
  await page.keyboard.press("Tab");
  return name(page);
}

/** Moves to the stop with this name. */
export async function tabTo(page, target, limit = MAX_STOPS) {
  const passed = [];
  for (let count = 0; count < limit; count += 1) {
    const stop = await next(page);
    if (stop === target) {
      return;
    }
    passed.push(stop);
  }
  assert.fail(`${target} is not among the next stops: ${passed}`);
}

/** Returns the accessible name of the focused element. */
async function name(page) {
  const isPage = await page.evaluate(() => document.activeElement === document.body);
  if (isPage) {
    return null;
  }
  const snapshot = await page.locator(":focus").ariaSnapshot();
  return snapshot.match(/^- (?:text: (.*)|\w+ "((?:[^"\\]|\\.)*)")/)?.slice(1).find(Boolean);
}

/** Returns whether the focused element is on the screen and looks different than without focus. */
export async function isFocusVisible(page) {
  return page.evaluate(() => {
    const focused = document.activeElement;
    const { top, left, bottom, right } = focused.getBoundingClientRect();
    const isOnScreen = top < innerHeight && bottom > 0 && left < innerWidth && right > 0;
    const look = () => [null, "::after"].map(styled).join();
    const styled = (part) => {
      const { outlineStyle, outlineWidth, outlineColor, boxShadow, backgroundColor } = getComputedStyle(focused, part);
      const outline = outlineStyle === "none" ? "none" : outlineWidth + outlineColor;
      return [outline, boxShadow, backgroundColor].join();
    };
    const withFocus = look();
    focused.blur();
    const without = look();
    focused.focus({ preventScroll: true });
    return isOnScreen && withFocus !== without;
  });
}
