// Scripts that somebody would like to run in the browsers of others: every known payload in every text that reaches a
// page, opened with the policy in force and, because escaping alone has to do, without it. Nothing runs, and no link
// leads astray.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { listen } from "./listener.mjs";
import { UNCACHED } from "./visitor.mjs";

const PAYLOADS = (await readFile(new URL("../../tests/xss.txt", import.meta.url), "utf8")).split("\n").filter(Boolean);
/** What the API refuses in texts. */
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/;
const WRITABLE = PAYLOADS.filter((payload) => !CONTROL.test(payload));
const PORTAL = "/careers/acme";
/** How many pages of one visitor are open at a time. */
const AT_ONCE = 2;
/** What pages may load beside themselves. */
const LOADED = ["/careers/style.css", "/dashboard/style.css", "/dashboard/icon.svg"];
/** The fields of the form to apply with. */
const FIELDS = ["name", "email", "phone", "resume_url", "note"];

/** What customers write. */
export async function byCustomers(world) {
  const { service, step } = world;
  const key = service.acme.live;
  const suspects = await both(world);

  await step("what runs where it is not escaped would be noticed", () => requireNotice(suspects[1]));

  await step("texts with control characters are refused", async () => {
    for (const payload of PAYLOADS.filter((payload) => CONTROL.test(payload))) {
      const { status } = await service.call(key, "POST", "/api/v1/quick_post", { role: { title: payload } });
      assert.equal(status, 422);
    }
  });

  const postings = await step("every other payload is in postings, wherever they have text", async () => {
    assert.ok(WRITABLE.length >= 200);
    const [titles, departments, described] = [batches(200), batches(100), pairs(WRITABLE)];
    assert.ok(departments.length >= Math.max(titles.length, described.length), "there is a posting for each");
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

  for (const suspect of suspects) {
    await step(`the list of openings is harmless ${suspect.how}`, async () => {
      const page = await suspect.visitor.context.newPage();
      await suspect.go(page, PORTAL);
      let seen = 0;
      for (;;) {
        seen += await page.locator(".card").count();
        const next = page.getByRole("link", { name: "More openings" });
        if (!(await next.count())) {
          break;
        }
        await suspect.go(page, await next.getAttribute("href"));
      }
      assert.equal(seen, postings.length);
    });

    await step(`every opening is harmless ${suspect.how}, and so is its form with payloads in every field`, () =>
      suspect.inTurns(postings, async (page, { text, path }, before) => {
        if (!before) {
          await suspect.go(page, path);
        }
        const typed = Object.fromEntries(FIELDS.map((field) => [field, text]));
        assert.equal(await suspect.submit(page, typed, `${path}/apply`), 422);
        const shown = await page.evaluate(
          (fields) => ({
            title: document.querySelector("h1").textContent,
            markup: JSON.parse(document.querySelector("script").textContent).title,
            typed: fields.map((field) => document.getElementById(field).value),
          }),
          FIELDS,
        );
        requireSame(text, shown.title, shown.markup, ...shown.typed);
      }),
    );

    await step(`a search for payloads is harmless ${suspect.how}`, () =>
      suspect.inTurns(batches(200), async (page, words) => {
        const query = new URLSearchParams({
          q: words,
          department: words,
          location: words,
          remote_policy: words,
          before: words,
        });
        await suspect.go(page, `${PORTAL}?${query}`);
        requireSame(words, await page.locator("#department").inputValue());
      }),
    );
  }

  await step("no address is repeated on a page", async () => {
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
    const harmless = await answers("nothing-known");
    await inTurns(PAYLOADS, 6, async (payload) => assert.deepEqual(await answers(payload), harmless, payload));
  });
  await requireNoComplaint(suspects);
}

/** What members and applicants write. */
export async function byOthers(world) {
  const { service, step, open } = world;
  const key = service.acme.live;
  const suspects = await both(world);

  const titles = batches(200);
  const roles = await step("every payload is in a title", () =>
    inTurns(titles, 4, (title) => service.create(key, "/api/v1/quick_post", { role: { title, location: title } })),
  );
  const candidates = await step(
    "every payload comes with an application: in a name, in a note, in a resume's address",
    async () => {
      const [, bare] = suspects;
      const notes = batches(1_000);
      await bare.inTurns(roles, async (page, { job_posting }, _, turn) => {
        await bare.go(page, `${PORTAL}/${job_posting.slug}`);
        const typed = {
          name: titles[turn],
          email: `applicant.${turn}@example.org`,
          note: notes[turn % notes.length],
          resume_url: `https://example.org/?${titles[turn].replace(/\s/g, "")}`,
          consent: "yes",
        };
        assert.equal(await bare.submit(page, typed), 303);
        requireSame(titles[turn], await page.locator(".lead a").textContent());
      });
      const found = await service.call(key, "GET", "/api/v1/candidates?limit=100");
      assert.equal(found.body.data.length, titles.length);
      return found.body.data;
    },
  );

  for (const suspect of suspects) {
    await suspect.visitor.signIn(service.acme.owner);
    await step(`the dashboard's candidates, roles and postings are harmless ${suspect.how}`, async () => {
      const lists = ["candidates", "roles", "postings"].map((list) => `/dashboard/${list}`);
      const details = candidates.map(({ id }) => `/dashboard/candidates/${id}`);
      await suspect.inTurns([...lists, ...details], (page, path) => suspect.go(page, path));
    });
  }

  await step("closed openings are harmless", async () => {
    const [, bare] = suspects;
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
    "the organization's name and introduction are harmless, as are its colour and logo with mistakes",
    async () => {
      const [, bare] = suspects;
      const pages = await Promise.all(suspects.map((suspect) => suspect.visitor.context.newPage()));
      for (const text of batches(2_000)) {
        const typed = { name: text, introduction: text, accent: text, logo_url: text };
        assert.equal(await bare.submit(owner.page, typed), 422);
      }
      for (const text of titles) {
        assert.equal(await bare.submit(owner.page, { name: text, introduction: text, accent: "", logo_url: "" }), 303);
        await Promise.all(suspects.map((suspect, turn) => suspect.go(pages[turn], PORTAL)));
        requireSame(
          text,
          await pages[1].locator(".lead").textContent(),
          await pages[1].locator(".brand").textContent(),
        );
      }
    },
  );
  await requireNoComplaint(suspects);
}

/** A visitor whose browser keeps to the pages' policy, and one whose browser knows none. */
async function both(world) {
  const visitors = [await world.open(UNCACHED), await world.open({ ...UNCACHED, bypassCSP: true })];
  return visitors.map((visitor, turn) => new Suspect(visitor, ["under the policy", "without the policy"][turn]));
}

/** A visitor who looks at each page for what should not be there. */
class Suspect {
  /** Everything that pages loaded. */
  #loaded = [];
  #pages = [];

  constructor(visitor, how) {
    this.visitor = visitor;
    this.how = how;
    visitor.context.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (!(request.isNavigationRequest() && request.frame().parentFrame() === null) && !LOADED.includes(pathname)) {
        this.#loaded.push(request.url());
      }
    });
  }

  /** Opens a page and looks at it. */
  async go(page, path) {
    await page.goto(path);
    await this.inspect(page);
  }

  /** Sends the form that is shown with these fields, and looks at what comes of it; the status of the answer. */
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
      // What the browser itself would refuse is sent, too.
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

  /** Looks at what is shown. */
  async inspect(page) {
    const address = page.url();
    assert.deepEqual(await page.evaluate(wrongs), [], address);
    assert.equal(page.url(), address);
    assert.deepEqual(this.#loaded, [], address);
    assert.deepEqual(this.visitor.complaints, [], address);
  }

  /** What has been loaded, which is then forgotten. */
  takeLoaded() {
    return this.#loaded.splice(0);
  }

  /** Does something with each item, in a few pages at a time; `before` is what that page was at last. */
  async inTurns(items, visit) {
    const waiting = items.entries();
    while (this.#pages.length < AT_ONCE) {
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

/** Runs in a page: what of it no page of ours has, and what comes of touching everything. */
function wrongs() {
  const found = [];
  const alien =
    "iframe, frame, object, embed, svg, math, base, video, audio, picture, marquee, dialog, template, xss, main style";
  const element = (element) => element.outerHTML.slice(0, 200);
  found.push(...[...document.querySelectorAll(alien)].map(element));
  for (const script of document.scripts) {
    if (script.type !== "application/ld+json" || script.src) {
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
  // Links are followed as far as the moment before the browser leaves.
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

/** Insists that a page that escapes nothing is seen through. */
async function requireNotice(suspect) {
  const site = await listen();
  const raw =
    '<script>alert("inline")</script><a href="javascript:alert(1)" onclick="alert(2)">x</a><img src="/elsewhere.png">';
  site.pages.set("/raw", raw);
  suspect.visitor.elsewhere.add(site.origin());
  const page = await suspect.visitor.context.newPage();
  await page.goto(`${site.origin()}/raw`);
  const found = await page.evaluate(wrongs);
  assert.equal(found.length, 3, found.join("\n"));
  const said = suspect.visitor.complaints.splice(0).filter((complaint) => /^a dialog says/.test(complaint));
  assert.deepEqual(said, ["a dialog says: inline", "a dialog says: 2"]);
  assert.deepEqual(suspect.takeLoaded(), [`${site.origin()}/elsewhere.png`]);
  suspect.visitor.elsewhere.clear();
  await page.close();
}

/** Insists that nothing came later. */
async function requireNoComplaint(suspects) {
  for (const { visitor } of suspects) {
    visitor.requireContent();
  }
}

/** Insists that texts are shown as they were written, but for the kinds of space in them. */
function requireSame(written, ...shown) {
  const kept = (text) => text.replace(/[\s\0\ufffd\ufeff]+/g, " ").trim();
  shown.forEach((text) => assert.equal(kept(text), kept(written)));
}

/** Neighbours. */
function pairs(list) {
  return list.flatMap((one, place) => (place % 2 ? [] : [[one, list[place + 1] ?? list[0]]]));
}

/** The payloads that the API takes, as many at a time as fit into a text of this length. */
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

/** Does something with each item, a few at a time; the results, in order. */
async function inTurns(items, atOnce, action) {
  const results = [];
  const waiting = items.entries();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [turn, item] of waiting) {
        results[turn] = await action(item, turn);
      }
    }),
  );
  return results;
}

/** What an address answers, but for what differs by request. */
async function answer(service, address) {
  const response = await fetch(service.base + address, { redirect: "manual" });
  return { status: response.status, location: response.headers.get("location"), body: await response.text() };
}
