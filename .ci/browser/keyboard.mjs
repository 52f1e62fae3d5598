// The keyboard alone: everything can be reached and done, and it shows where one is.

import assert from "node:assert/strict";

const PATH = "/dashboard/settings/integrations/api-keys";
/** More stops than any page has. */
const MAX_STOPS = 80;

export async function visit({ service, open, step }) {
  const visitor = await open({ reducedMotion: "reduce" });
  const { page } = visitor;
  const { keyboard } = page;

  await step("the first stop leads past the header", async () => {
    await visitor.go("/dashboard/sign-in");
    assert.equal(await next(page), "Skip to the content");
    assert.ok(await page.getByRole("link", { name: "Skip to the content" }).isVisible());
    await keyboard.press("Enter");
    assert.equal(await next(page), "E-mail address");
  });

  await step("sign in", async () => {
    await keyboard.type(service.acme.owner.email);
    await tabTo(page, "Password");
    await keyboard.type(service.acme.owner.password);
    assert.equal(await visitor.sends(() => keyboard.press("Enter")), 303);
  });

  await step("every stop of a page is seen, and has a name", async () => {
    await tabTo(page, "API keys");
    await Promise.all([page.waitForEvent("load"), keyboard.press("Enter")]);
    assert.equal(visitor.path(), PATH);
    const stops = [];
    for (let stop = await next(page); stop !== null; stop = await next(page)) {
      assert.ok(stop, `the stop after ${stops.at(-1)} has no name`);
      assert.ok(await isSeen(page), `one does not see that ${stop} has the focus`);
      stops.push(stop);
      assert.ok(stops.length < MAX_STOPS, `no way out: ${stops}`);
    }
    for (const expected of ["API keys", "Account", "Sign out", "Name", "Expires in days", "Create the key"]) {
      assert.ok(stops.includes(expected), `${expected} is not among ${stops}`);
    }
  });

  const secret = await step("create a key with one scope", async () => {
    await tabTo(page, "Name");
    await keyboard.type("By keyboard");
    for (;;) {
      const stop = await next(page);
      if (stop === "Expires in days") {
        break;
      }
      if (/:(read|write)$/.test(stop) && !stop.endsWith("roles:read")) {
        await keyboard.press("Space");
      }
    }
    await tabTo(page, "Create the key");
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

  await step("open and close a telephone's menu", async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    await visitor.go("/dashboard");
    const menu = page.getByRole("navigation", { name: "Dashboard" });
    assert.ok(!(await menu.isVisible()));
    await tabTo(page, "Menu");
    await keyboard.press("Enter");
    assert.ok(await menu.isVisible());
    await tabTo(page, "Roles", 4);
    assert.ok(await isSeen(page));
    await keyboard.press("Escape");
    assert.ok(!(await menu.isVisible()));
    assert.equal(await name(page), "Menu");
  });
}

/** Goes one stop on; its name, or null where the page ends. */
export async function next(page) {
  await page.keyboard.press("Tab");
  return name(page);
}

/** Goes on to the stop of this name. */
export async function tabTo(page, wanted, most = MAX_STOPS) {
  const passed = [];
  for (let count = 0; count < most; count += 1) {
    const stop = await next(page);
    if (stop === wanted) {
      return;
    }
    passed.push(stop);
  }
  assert.fail(`${wanted} is not among the next stops: ${passed}`);
}

/** What has the focus is called, as assistive technology says it. */
async function name(page) {
  const isPage = await page.evaluate(() => document.activeElement === document.body);
  if (isPage) {
    return null;
  }
  const snapshot = await page.locator(":focus").ariaSnapshot();
  return snapshot.match(/^- (?:text: (.*)|\w+ "((?:[^"\\]|\\.)*)")/)?.slice(1).find(Boolean);
}

/** Whether what has the focus is on the screen, and looks otherwise than without it. */
export async function isSeen(page) {
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
