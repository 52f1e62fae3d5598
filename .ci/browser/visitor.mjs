// A visitor: a person's browser, with cookies of its own, that notices what no page may do.

import assert from "node:assert/strict";

/** The name of the only cookie. */
export const COOKIE = "__Host-rolecall";

/** The options of a browser that asks for everything anew: career pages may be kept for a moment. */
export const UNCACHED = { extraHTTPHeaders: { "cache-control": "no-cache" } };

/** Where the service keeps files as S3 would. */
const BUCKET = "/local-resumes";

/** What every page may hold and do. Where an application is asked for, its answer may go to one source more. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'( \\S+)?",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

/** What every page is served with. */
const HEADERS = {
  "content-security-policy": new RegExp(`^${POLICY.join("; ")}$`),
  "x-frame-options": /^DENY$/,
  "x-content-type-options": /^nosniff$/,
  "cache-control": /^no-store$/,
  "referrer-policy": /^no-referrer$/,
  "cross-origin-opener-policy": /^same-origin$/,
};

/** What career pages are served with: they may have a theme, show a logo, be kept for a moment, and know nobody. */
const CAREERS_HEADERS = {
  ...HEADERS,
  "content-security-policy": new RegExp(
    `^${POLICY.join("; ")}$`
      .replace("style-src 'self'", "style-src 'self'( 'sha256-[\\w+/]{43}=')?")
      .replace("img-src 'self'", "img-src 'self'( data:| https://\\S+)?"),
  ),
  "cache-control": /^(no-store|public, max-age=30)$/,
  "set-cookie": /^$/,
};

export class Visitor {
  /** Everything that was noticed, as sentences. */
  complaints = [];
  /** Origins beside the service's own that the visitor may go to. */
  elsewhere = new Set();
  /** The addresses of pages: a console names the status of each that is an error. */
  #asked = new Set();

  /** Opens a browser of its own; `options` are the context's. */
  static async open(browser, service, options) {
    const visitor = new Visitor();
    visitor.service = service;
    visitor.context = await browser.newContext({ baseURL: service.base, ...options });
    visitor.context.setDefaultTimeout(10_000);
    visitor.context.on("console", (message) => visitor.#hear(message));
    visitor.context.on("dialog", (dialog) => visitor.#refuse(dialog));
    visitor.context.on("weberror", (error) => visitor.complaints.push(`a script failed: ${error.error()}`));
    visitor.context.on("request", (request) => visitor.#see(request));
    visitor.context.on("response", (response) => visitor.#read(response));
    visitor.page = await visitor.context.newPage();
    return visitor;
  }

  #hear(message) {
    const isStatus = /^Failed to load resource: the server responded with a status of/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !(isStatus && this.#asked.has(message.location().url))) {
      this.complaints.push(`the console says: ${message.text()}`);
    }
  }

  #refuse(dialog) {
    this.complaints.push(`a dialog says: ${dialog.message()}`);
    // The page that asked may be gone.
    dialog.dismiss().catch(() => {});
  }

  #see(request) {
    const { origin } = new URL(request.url());
    if (request.isNavigationRequest()) {
      this.#asked.add(request.url());
    }
    if (origin !== this.service.base && !this.elsewhere.has(origin)) {
      this.complaints.push(`a request goes to ${request.url()}`);
    }
  }

  #read(response) {
    const request = response.request();
    const { origin, pathname } = new URL(response.url());
    if (!request.isNavigationRequest() || origin !== this.service.base || pathname.startsWith(BUCKET)) {
      return;
    }
    const what = `${request.method()} ${response.url()} (${response.status()})`;
    for (const [name, pattern] of Object.entries(pathname.startsWith("/careers/") ? CAREERS_HEADERS : HEADERS)) {
      const value = response.headers()[name];
      if (!pattern.test(value ?? "")) {
        this.complaints.push(`${what} has ${name}: ${value}`);
      }
    }
    const status = response.status();
    if (status >= 300 && status < 400 && status !== 303) {
      this.complaints.push(`${what} does not redirect with 303`);
    }
    if (status >= 500) {
      this.complaints.push(`${what} failed`);
    }
  }

  /** Insists that nothing was noticed since the last time. */
  requireContent() {
    assert.deepEqual(this.complaints.splice(0), []);
  }

  /** Goes to a path or address; the status of what is shown. */
  async go(address) {
    return (await this.page.goto(address)).status();
  }

  /** Does what sends a form; the status that the form itself is answered with. */
  async sends(action) {
    const [answer] = await Promise.all([
      this.page.waitForResponse((response) => response.request().method() === "POST"),
      this.page.waitForEvent("load"),
      action(),
    ]);
    return answer.status();
  }

  /** Presses a button that sends a form; the status that the form is answered with. */
  async press(name, within = this.page) {
    return this.sends(() => within.getByRole("button", { name, exact: true }).click());
  }

  /** Opens what hides a button, then presses it. */
  async pressWithin(summary, name) {
    const details = this.page.locator("details").filter({ has: this.page.getByText(summary, { exact: true }) });
    await details.locator("summary").click();
    return this.press(name, details);
  }

  /** Fills in the form to sign in with, which is shown, and sends it. */
  async fillSignIn({ email, password }) {
    await this.page.getByLabel("E-mail address").fill(email);
    await this.page.getByLabel("Password").fill(password);
    return this.press("Sign in");
  }

  /** Signs in and goes to a path. */
  async signIn(member, path = "/dashboard") {
    await this.go(`/dashboard/sign-in?return_to=${encodeURIComponent(path)}`);
    assert.equal(await this.fillSignIn(member), 303);
    assert.equal(this.path(), path);
  }

  /** The path and query of what is shown. */
  path() {
    const { pathname, search } = new URL(this.page.url());
    return pathname + search;
  }

  /** The cookie, with all that the browser knows of it. */
  async cookie() {
    const cookies = await this.context.cookies(this.service.base);
    assert.deepEqual(cookies.map(({ name }) => name), [COOKIE]);
    return cookies[0];
  }

  /** The digest that this visitor's forms carry, from the page that is shown. */
  async formToken() {
    return this.page.locator("input[name=csrf]").first().inputValue();
  }

  /** Whether the next page asks to sign in. */
  async isSignedOut() {
    await this.go("/dashboard");
    return this.path().startsWith("/dashboard/sign-in");
  }
}
