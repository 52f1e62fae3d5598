// A visitor: a browser with its own cookies that records every violation of the rules for pages.

import assert from "node:assert/strict";

/** The name of the session's cookie, which has no prefix on http://127.0.0.1. */
export const COOKIE = "rolecall";

/** Options of a browser without a cache, because career pages are cacheable for 30 seconds. */
export const UNCACHED = { extraHTTPHeaders: { "cache-control": "no-cache" } };

/** The content security policy of every page. The consent page may also redirect to the application. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'( \\S+)?",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

/** The headers of every page. */
const HEADERS = {
  "content-security-policy": new RegExp(`^${POLICY.join("; ")}$`),
  "x-frame-options": /^DENY$/,
  "x-content-type-options": /^nosniff$/,
  "cache-control": /^no-store$/,
  "referrer-policy": /^no-referrer$/,
  "cross-origin-opener-policy": /^same-origin$/,
};

/** The paths of the only pages with a script, except for the API reference. */
const WITH_SCRIPT = /^\/dashboard(\/(password|sign-in\/passkey|settings\/account(\/passkeys|\/password|\/second-factor(\/recovery-codes)?)?|settings\/members(\/\d+\/link)?|roles\/\d+|candidates(\/(new|\d+\/edit))?|screens\/\d+|settings\/integrations\/api-keys|webhooks(\/\d+\/rotate)?))?$/;

/** The headers of pages with a script. */
const SCRIPT_HEADERS = {
  ...HEADERS,
  "content-security-policy": new RegExp(
    `^${POLICY.join("; ")}$`.replace("( \\S+)?; ", "; (script-src 'self'; )?"),
  ),
};

/**
 * The headers of career pages, which may have a theme, a logo and the script of the form, are cacheable for 30 seconds, and
 * set no cookie.
 */
const CAREERS_HEADERS = {
  ...HEADERS,
  "content-security-policy": new RegExp(
    `^${POLICY.join("; ")}$`
      .replace("style-src 'self'", "style-src 'self'( 'sha256-[\\w+/]{43}=')?")
      .replace("img-src 'self'", "img-src 'self'( data:| https://\\S+)?")
      .replace("( \\S+)?; ", "( \\S+ \\S+)?; (script-src 'self'; )?"),
  ),
  "cache-control": /^(no-store|public, max-age=30)$/,
  "set-cookie": /^$/,
};

/** The headers of the preview of a career page. */
const PREVIEW_HEADERS = { ...CAREERS_HEADERS, "cache-control": /^no-store$/ };

/** The headers of the API reference, whose script sends requests to this origin. It is cacheable for 30 seconds. */
const REFERENCE_HEADERS = {
  ...HEADERS,
  "content-security-policy": new RegExp(
    `^${[
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ].join("; ")}$`,
  ),
  "cache-control": /^public, max-age=30$/,
  "set-cookie": /^$/,
};

/** The path of a candidate's page, which may show a PDF of the bucket in a frame. */
const WITH_FRAME = /^\/dashboard\/candidates\/\d+$/;

/** The headers of a candidate's page. */
const FRAME_HEADERS = {
  ...HEADERS,
  "content-security-policy": new RegExp(
    `^${POLICY.join("; ")}$`.replace("( \\S+)?; ", "; (frame-src http://127\\.0\\.0\\.1:\\d+; )?(script-src 'self'; )?"),
  ),
};

/** The path of an import's page, whose form may send a file to the bucket, which leads back. */
const WITH_UPLOAD = /^\/dashboard\/imports\/\d+$/;

/** The headers of an import's page. */
const UPLOAD_HEADERS = {
  ...HEADERS,
  "content-security-policy": new RegExp(
    `^${POLICY.join("; ")}$`.replace("( \\S+)?; ", "( \\S+ \\S+)?; (script-src 'self'; )?"),
  ),
};

/** Returns the headers of the page with this path, which may be a preview of a career page. */
function headersOf(pathname, isPreview) {
  if (isPreview) {
    return PREVIEW_HEADERS;
  }
  if (WITH_FRAME.test(pathname)) {
    return FRAME_HEADERS;
  }
  if (WITH_UPLOAD.test(pathname)) {
    return UPLOAD_HEADERS;
  }
  if (pathname.startsWith("/careers/")) {
    return CAREERS_HEADERS;
  }
  if (pathname === "/docs" || pathname.startsWith("/docs/")) {
    return REFERENCE_HEADERS;
  }
  return WITH_SCRIPT.test(pathname) ? SCRIPT_HEADERS : HEADERS;
}

export class Visitor {
  /** The recorded violations, as sentences. */
  complaints = [];
  /** Other origins that the visitor may open. */
  elsewhere = new Set();
  /** The URLs of pages and of scripts' requests. The console reports the status of each error, which is no violation. */
  #navigations = new Set();

  /** Opens a browser context with these options. */
  static async open(browser, service, options) {
    const visitor = new Visitor();
    visitor.base = options?.baseURL ?? service.base;
    visitor.elsewhere.add(service.files);
    visitor.context = await browser.newContext({ baseURL: service.base, ...options });
    visitor.context.on("console", (message) => visitor.#checkConsole(message));
    visitor.context.on("dialog", (dialog) => visitor.#dismiss(dialog));
    visitor.context.on("weberror", (error) => visitor.complaints.push(`a script failed: ${error.error()}`));
    visitor.context.on("request", (request) => visitor.#checkRequest(request));
    visitor.context.on("response", (response) => visitor.#checkResponse(response));
    visitor.page = await visitor.context.newPage();
    return visitor;
  }

  #checkConsole(message) {
    const isStatus = /^Failed to load resource: the server responded with a status of/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !(isStatus && this.#navigations.has(message.location().url))) {
      this.complaints.push(`console: ${message.text()}`);
    }
  }

  #dismiss(dialog) {
    this.complaints.push(`dialog: ${dialog.message()}`);
    // The page of the dialog may already be closed.
    dialog.dismiss().catch(() => {});
  }

  #checkRequest(request) {
    const { origin, protocol } = new URL(request.url());
    // The browser's own viewer for PDFs.
    if (["chrome-extension:", "chrome:"].includes(protocol)) {
      return;
    }
    if (request.isNavigationRequest() || request.resourceType() === "fetch") {
      this.#navigations.add(request.url());
    }
    if (origin !== this.base && !this.elsewhere.has(origin)) {
      this.complaints.push(`a request goes to ${request.url()}`);
    }
  }

  #checkResponse(response) {
    const request = response.request();
    const { origin, pathname } = new URL(response.url());
    if (!request.isNavigationRequest() || origin !== this.base) {
      return;
    }
    const what = `${request.method()} ${response.url()} (${response.status()})`;
    const wantsPreview = /(^|&)preview=yes/.test(request.postData() ?? "");
    const isPreview = response.status() === 200 && (wantsPreview || /\/roles\/\d+\/preview$/.test(pathname));
    for (const [name, pattern] of Object.entries(headersOf(pathname, isPreview))) {
      const value = response.headers()[name];
      if (!pattern.test(value ?? "")) {
        this.complaints.push(`${what} has ${name}: ${value}`);
      }
    }
    const status = response.status();
    // A sign-in lets the browser send the form that waits for it.
    const sendsOn = status === 307 && /^\/dashboard\/(sign-in(\/passkey)?|second-factor|confirm)$/.test(pathname);
    if (status >= 300 && status < 400 && status !== 303 && !sendsOn) {
      this.complaints.push(`${what} does not redirect with 303`);
    }
    if (status >= 500) {
      this.complaints.push(`${what} failed`);
    }
  }

  /** Asserts that there are no new violations. */
  requireNoComplaints() {
    assert.deepEqual(this.complaints.splice(0), []);
  }

  /** Opens a path or URL. Returns the status of the page. */
  async go(address) {
    return (await this.page.goto(address)).status();
  }

  /** Runs an action that submits a form. Returns the status of the POST. */
  async sends(action) {
    const [answer] = await Promise.all([
      this.page.waitForResponse((response) => response.request().method() === "POST"),
      this.page.waitForEvent("load"),
      action(),
    ]);
    return answer.status();
  }

  /** Presses a button that submits a form. Returns the status of the POST. */
  async press(name, within = this.page) {
    return this.sends(() => within.getByRole("button", { name, exact: true }).click());
  }

  /** Presses the button that shows the preview of a job. Returns its page, which has a tab of its own. */
  async opensPreview() {
    const [preview] = await Promise.all([
      this.context.waitForEvent("page"),
      this.page.getByRole("button", { name: "Preview" }).click(),
    ]);
    await preview.waitForLoadState();
    return preview;
  }

  /** Opens the `details` element with this summary, and presses the button in it. */
  async pressWithin(summary, name) {
    const details = this.page.locator("details").filter({ has: this.page.getByText(summary, { exact: true }) });
    await details.locator("summary").click();
    return this.press(name, details);
  }

  /** Fills in and submits the sign-in form of the current page. */
  async fillSignIn({ email, password }) {
    await this.page.getByLabel("E-mail address").fill(email);
    await this.page.getByLabel("Password").fill(password);
    return this.press("Sign in");
  }

  /** Signs in and continues to a path. */
  async signIn(member, path = "/dashboard") {
    await this.go(`/dashboard/sign-in?return_to=${encodeURIComponent(path)}`);
    assert.equal(await this.fillSignIn(member), 303);
    assert.equal(this.path(), path);
  }

  /** Returns the path and query of the current page. */
  path() {
    const { pathname, search } = new URL(this.page.url());
    return pathname + search;
  }

  /** Returns the session's cookie with its attributes. The others are those of known browsers and their organizations. */
  async cookie() {
    const all = await this.context.cookies(this.base);
    const cookies = all.filter(({ name }) => !/-(known|organization)-/.test(name));
    assert.deepEqual(cookies.map(({ name }) => name), [COOKIE]);
    return cookies[0];
  }

  /** Returns the CSRF token of the current page. */
  async formToken() {
    return this.page.locator("input[name=csrf]").first().inputValue();
  }

  /** Returns whether the dashboard redirects to sign-in. */
  async isSignedOut() {
    await this.go("/dashboard");
    return this.path().startsWith("/dashboard/sign-in");
  }
}
