// Cross-site scripting: every known payload in every field that a page shows. Pages are opened with the content
// security policy and without it, because escaping alone must be enough. No script may run, and no link may have a
// dangerous URL.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { listen } from "./listener.mjs";
import { UNCACHED } from "./visitor.mjs";

const PAYLOADS = (await readFile(new URL("../../tests/xss.txt", import.meta.url), "utf8")).split("\n").filter(Boolean);
/** Characters that the API rejects in strings. */
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/;
const WRITABLE = PAYLOADS.filter((payload) => !CONTROL.test(payload));
const PORTAL = "/careers/acme";
const SUSPECTS = "/dashboard/candidates/suspects";
/** The number of concurrent pages of a visitor. */
const PAGES = 2;
/** Files that pages may load. */
const ALLOWED = [
  "/careers/style.css",
  "/careers/script.js",
  "/dashboard/style.css",
  "/dashboard/script.js",
  "/dashboard/icon.svg",
];
/** The fields of the application form. */
const FIELDS = ["name", "email", "phone", "resume_url", "note"];

/** Payloads in text from customers. */
export async function byCustomers(world) {
  const { service, step } = world;
  const key = service.acme.live;
  const inspectors = await openInspectors(world);

  await step("unescaped payloads are detected", () => requireDetection(inspectors[1]));

  await step("strings with control characters are rejected", async () => {
    for (const payload of PAYLOADS.filter((payload) => CONTROL.test(payload))) {
      const { status } = await service.call(key, "POST", "/api/v1/quick_post", { role: { title: payload } });
      assert.equal(status, 422);
    }
  });

  const postings = await step("postings contain all other payloads in every field", async () => {
    assert.ok(WRITABLE.length >= 200);
    const [titles, departments, described] = [batches(200), batches(100), pairs(WRITABLE)];
    assert.ok(departments.length >= Math.max(titles.length, described.length), "every payload needs a posting");
    return inTurns(departments, 6, async (department, turn) => {
      const text = titles[turn % titles.length];
      const [one, other] = described[turn % described.length];
      const role = { title: `${turn}`, department, location: text, remote_policy: "hybrid", description: "Words." };
      const texts = { public_description: `${one}\n\n${other}`, requirements: `${other}\n\n${one}` };
      const body = { role, job_posting: { title: text, ...texts } };
      const { job_posting } = await service.create(key, "/api/v1/quick_post", body);
      return { text, path: `${PORTAL}/${job_posting.slug}` };
    });
  });

  const sample = sampleOf(inspectors);
  for (const inspector of inspectors) {
    await step(`the list of openings is harmless ${inspector.how}`, async () => {
      const page = await inspector.visitor.context.newPage();
      await inspector.go(page, PORTAL);
      let seen = 0;
      for (;;) {
        seen += await page.locator(".card").count();
        const next = page.getByRole("link", { name: "More openings" });
        if (!(await next.count())) {
          break;
        }
        await inspector.go(page, await next.getAttribute("href"));
      }
      assert.equal(seen, postings.length);
    });

    await step(`every opening, also with payloads in every field of its form, is harmless ${inspector.how}`, () =>
      inspector.inTurns(sample(postings, inspector), async (page, { text, path }, before) => {
        if (!before) {
          await inspector.go(page, path);
        }
        const typed = Object.fromEntries(FIELDS.map((field) => [field, text]));
        assert.equal(await inspector.submit(page, typed, `${path}/apply`), 422);
        const shown = await page.evaluate(
          (fields) => ({
            title: document.querySelector("h1").textContent,
            markup: JSON.parse(document.querySelector("script:not([src])").textContent).title,
            typed: fields.map((field) => document.getElementById(field).value),
          }),
          FIELDS,
        );
        requireSame(text, shown.title, shown.markup, ...shown.typed);
      }),
    );

    await step(`a search for payloads is harmless ${inspector.how}`, () =>
      inspector.inTurns(sample(batches(200), inspector), async (page, words) => {
        const query = new URLSearchParams({
          q: words,
          department: words,
          location: words,
          remote_policy: words,
          before: words,
        });
        await inspector.go(page, `${PORTAL}?${query}`);
        requireSame(words, await page.locator("#department").inputValue());
      }),
    );
  }

  await step("pages do not repeat the URL", async () => {
    const [{ path }] = postings;
    const addresses = (payload) => {
      const text = encodeURIComponent(payload);
      return [
        `/careers/${text}`,
        `${PORTAL}/${text}`,
        `${PORTAL}/${text}/apply?ticket=${text}`,
        `${path}/apply?ticket=${text}`,
      ];
    };
    const answers = (payload) => Promise.all(addresses(payload).map((address) => answer(service, address)));
    const harmless = await answers("unknown");
    await inTurns(PAYLOADS, 6, async (payload) => assert.deepEqual(await answers(payload), harmless, payload));
  });
  await requireNoComplaint(inspectors);
}

/** Payloads in text from members and applicants. */
export async function byOthers(world) {
  const { service, step, open } = world;
  const key = service.acme.live;
  const inspectors = await openInspectors(world);

  const sample = sampleOf(inspectors);
  const titles = batches(200);
  const roles = await step("titles contain every payload", () =>
    inTurns(titles, 4, (title) => service.create(key, "/api/v1/quick_post", { role: { title, location: title } })),
  );
  const candidates = await step(
    "applications contain every payload in the name, the note and the link to the resume",
    async () => {
      const [, bare] = inspectors;
      const notes = batches(1_000);
      await bare.inTurns(roles, async (page, { job_posting }, _, turn) => {
        const typed = {
          name: titles[turn],
          email: `applicant.${turn}@example.org`,
          note: notes[turn % notes.length],
          resume_url: `https://example.org/?${titles[turn].replace(/\s/g, "")}`,
          consent: "yes",
        };
        // As if the page had not been opened a moment ago. Every other form is also sent as a suspect one: an address may
        // send a hundred in an hour.
        for (const hidden of turn % 2 ? [{ opened: "" }] : [{ confirm_topic: "x" }, { opened: "" }]) {
          await bare.go(page, `${PORTAL}/${job_posting.slug}`);
          assert.equal(await bare.submit(page, { ...typed, ...hidden }), 303);
        }
        requireSame(titles[turn], await page.locator(".lead a").textContent());
      });
      const found = await service.call(key, "GET", "/api/v1/candidates?limit=100");
      assert.equal(found.body.data.length, titles.length);
      return found.body.data;
    },
  );

  for (const inspector of inspectors) {
    await inspector.visitor.signIn(service.acme.owner);
    await step(`the dashboard's candidates, roles and postings are harmless ${inspector.how}`, async () => {
      const lists = ["candidates", "roles", "postings"].map((list) => `/dashboard/${list}`);
      const details = candidates.map(({ id }) => `/dashboard/candidates/${id}`);
      const paths = sample([...lists, ...details], inspector);
      await inspector.inTurns(paths, (page, path) => inspector.go(page, path));
    });
    await step(`the dashboard's suspect forms are harmless ${inspector.how}`, async () => {
      let shown = 0;
      await inspector.inTurns([SUSPECTS], async (page, path) => {
        for (let next = path; next; shown += await page.locator("input[name=id]").count()) {
          await inspector.go(page, next);
          const link = page.locator("a[rel=next]");
          next = (await link.count()) > 0 ? await link.getAttribute("href") : null;
        }
      });
      assert.equal(shown, Math.ceil(titles.length / 2));
    });
  }

  await step("closed openings are harmless", async () => {
    const [, bare] = inspectors;
    await bare.inTurns(roles, async (page, { role, job_posting }) => {
      const path = `${PORTAL}/${job_posting.slug}`;
      await service.call(key, "DELETE", `/api/v1/roles/${role.id}`);
      await bare.go(page, path);
      assert.ok((await page.getByRole("main").textContent()).includes(`“${role.title}”`));
    });
  });

  const owner = await open();
  await owner.signIn(service.acme.owner, "/dashboard/settings/career-page");
  await step(
    "the organization's name, introduction and invalid colours and logos are harmless",
    async () => {
      const [, bare] = inspectors;
      const pages = await Promise.all(inspectors.map((inspector) => inspector.visitor.context.newPage()));
      for (const text of batches(2_000)) {
        const typed = { name: text, introduction: text, accent: text, logo_url: text };
        assert.equal(await bare.submit(owner.page, typed), 422);
      }
      for (const text of titles) {
        assert.equal(await bare.submit(owner.page, { name: text, introduction: text, accent: "", logo_url: "" }), 303);
        const visits = inspectors.filter((inspector) => sample(titles, inspector).includes(text));
        await Promise.all(visits.map((inspector) => inspector.go(pages[inspectors.indexOf(inspector)], PORTAL)));
        requireSame(
          text,
          await pages[1].locator(".lead").textContent(),
          await pages[1].locator(".brand").textContent(),
        );
      }
    },
  );
  await requireNoComplaint(inspectors);
}

/** What is harmless without the policy is harmless under it, so a quarter of the pages shows that none violates it. */
function sampleOf([underPolicy]) {
  return (all, inspector) => all.filter((_, place) => inspector !== underPolicy || place % 4 === 0);
}

/** Opens a visitor whose browser enforces the content security policy, and one whose browser ignores it. */
async function openInspectors(world) {
  const visitors = [await world.open(UNCACHED), await world.open({ ...UNCACHED, bypassCSP: true })];
  return visitors.map((visitor, turn) => new Inspector(visitor, ["under the policy", "without the policy"][turn]));
}

/** A visitor who checks each page for injected content. */
class Inspector {
  /** The URLs that pages loaded. */
  #loaded = [];
  #pages = [];

  constructor(visitor, how) {
    this.visitor = visitor;
    this.how = how;
    visitor.context.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (!(request.isNavigationRequest() && request.frame().parentFrame() === null) && !ALLOWED.includes(pathname)) {
        this.#loaded.push(request.url());
      }
    });
  }

  /** Opens a page and inspects it. */
  async go(page, path) {
    await page.goto(path);
    await this.inspect(page);
  }

  /** Submits the page's form with these fields and inspects the result. Returns the response's status. */
  async submit(page, typed, action) {
    const send = ([typed, action]) => {
      const form = document.querySelector("form.form");
      for (const [name, text] of Object.entries(typed)) {
        const field = form.elements.namedItem(name);
        field.checked = true;
        field.value = text;
      }
      if (action) {
        form.setAttribute("action", action);
      }
      // Unlike a click, `submit` skips the browser's validation.
      form.submit();
    };
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === "POST"),
      page.waitForEvent("load"),
      page.evaluate(send, [typed, action]),
    ]);
    await this.inspect(page);
    return answer.status();
  }

  /** Inspects the current page. */
  async inspect(page) {
    const address = page.url();
    assert.deepEqual(await page.evaluate(findInjections), [], address);
    assert.equal(page.url(), address);
    assert.deepEqual(this.#loaded, [], address);
    assert.deepEqual(this.visitor.complaints, [], address);
  }

  /** Returns the loaded URLs and clears them. */
  takeLoaded() {
    return this.#loaded.splice(0);
  }

  /** Visits each item, in a few concurrent pages. `before` is the previous item of the same page. */
  async inTurns(items, visit) {
    const waiting = items.entries();
    while (this.#pages.length < PAGES) {
      this.#pages.push(await this.visitor.context.newPage());
    }
    await Promise.all(
      this.#pages.map(async (page) => {
        let before;
        for (const [turn, item] of waiting) {
          await visit(page, item, before, turn);
          before = item;
        }
      }),
    );
  }
}

/** Runs in a page: triggers events on every element, and returns the content that does not belong on any page. */
function findInjections() {
  const found = [];
  const foreign =
    "iframe, frame, object, embed, svg, math, base, video, audio, picture, marquee, dialog:not(#shortcuts), template, xss, main style";
  const element = (element) => element.outerHTML.slice(0, 200);
  found.push(...[...document.querySelectorAll(foreign)].map(element));
  for (const script of document.scripts) {
    const isOwn = /^\/(careers|dashboard)\/script\.js$/.test(new URL(script.src, document.baseURI).pathname);
    if (script.src ? !isOwn : script.type !== "application/ld+json") {
      found.push(element(script));
    }
  }
  for (const one of document.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      const isLink = ["href", "src", "action", "formaction", "xlink:href"].includes(name);
      const isWrongLink =
        isLink && one.rel !== "icon" && !/^(https?|mailto|tel):$/.test(new URL(value, document.baseURI).protocol);
      if (isWrongLink || /^(on|style$|srcdoc$|ping$|background$)/.test(name)) {
        found.push(`${name}=${value} in ${element(one)}`);
      }
    }
  }
  // Links and forms are activated, but the browser stays on the page.
  const stay = (event) => event.preventDefault();
  addEventListener("click", stay);
  addEventListener("submit", stay);
  for (const one of document.querySelectorAll("body *")) {
    for (const kind of ["focus", "mouseover", "animationstart", "toggle", "error", "load"]) {
      one.dispatchEvent(new Event(kind));
    }
    if (one.matches("a, button, summary, label, main *") && !one.matches("input, select, option")) {
      one.click();
    }
  }
  removeEventListener("click", stay);
  removeEventListener("submit", stay);
  return found;
}

/** Asserts that injections are detected on a page without escaping. */
async function requireDetection(inspector) {
  const site = await listen();
  const raw =
    '<script>alert("inline")</script><a href="javascript:alert(1)" onclick="alert(2)">x</a><img src="/elsewhere.png">';
  site.pages.set("/raw", raw);
  inspector.visitor.elsewhere.add(site.origin());
  const page = await inspector.visitor.context.newPage();
  await page.goto(`${site.origin()}/raw`);
  const found = await page.evaluate(findInjections);
  assert.equal(found.length, 3, found.join("\n"));
  const dialogs = inspector.visitor.complaints.splice(0).filter((complaint) => /^dialog: /.test(complaint));
  assert.deepEqual(dialogs, ["dialog: inline", "dialog: 2"]);
  assert.deepEqual(inspector.takeLoaded(), [`${site.origin()}/elsewhere.png`]);
  inspector.visitor.elsewhere.delete(site.origin());
  await page.close();
}

/** Asserts that there are no new violations. */
async function requireNoComplaint(inspectors) {
  for (const { visitor } of inspectors) {
    visitor.requireNoComplaints();
  }
}

/** Asserts that text is shown as written, except for whitespace. */
function requireSame(written, ...shown) {
  const normalized = (text) => text.replace(/[\s\0\ufffd\ufeff]+/g, " ").trim();
  shown.forEach((text) => assert.equal(normalized(text), normalized(written)));
}

/** Returns the items in pairs. */
function pairs(list) {
  return list.flatMap((one, place) => (place % 2 ? [] : [[one, list[place + 1] ?? list[0]]]));
}

/** Returns the payloads that the API accepts, joined into strings of at most `limit` characters. */
function batches(limit) {
  const all = [];
  for (const payload of WRITABLE.filter((payload) => payload.length <= limit)) {
    const longer = `${all.at(-1)} ${payload}`;
    if (all.length && longer.length <= limit) {
      all[all.length - 1] = longer;
    } else {
      all.push(payload);
    }
  }
  return all;
}

/** Calls `action` for each item, `concurrency` at a time. Returns the results in order. */
async function inTurns(items, concurrency, action) {
  const results = [];
  const waiting = items.entries();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const [turn, item] of waiting) {
        results[turn] = await action(item, turn);
      }
    }),
  );
  return results;
}

/** Returns the parts of a response that do not differ by request. */
async function answer(service, address) {
  const response = await fetch(service.base + address, { redirect: "manual" });
  return { status: response.status, location: response.headers.get("location"), body: await response.text() };
}
