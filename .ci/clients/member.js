// A member with a browser, who follows redirects, signs in and answers the consent page. Forms are submitted with all
// their fields, including hidden ones.

import assert from 'node:assert/strict';
import * as cheerio from 'cheerio';

// A member of Acme in the demo data.
const CREDENTIALS = { email: 'ada@acme.example', password: 'acme demo password' };
const COOKIE = 'rolecall';

export class Member {
  #cookie;

  // Allows access and returns the URL that the browser is redirected to. `choices` are fields of the form.
  allow(url, choices) {
    return this.#decide(url, 'Allow', choices);
  }

  // Denies access and returns the URL that the browser is redirected to.
  deny(url) {
    return this.#decide(url, 'Deny');
  }

  // Confirms an assistant's call on its page of the dashboard.
  async confirm(url) {
    await this.#press(await this.#open(url), 'Confirm');
  }

  // Changes settings on their page of the dashboard.
  async change(url, choices) {
    await this.#press(await this.#open(url), 'Save', choices);
  }

  // Opens a page. Signs in if the service asks for it.
  async #open(url) {
    const page = await this.#go(new URL(url));
    return page.url.pathname === '/dashboard/sign-in' ? this.#press(page, 'Sign in', CREDENTIALS) : page;
  }

  async #decide(url, button, choices) {
    const page = await this.#open(url);
    const redirect = await this.#press(page, button, choices);
    assert(redirect instanceof URL, 'the redirect must leave the service');
    return redirect;
  }

  #press({ url, $ }, label, typed = {}) {
    const button = $('button').filter((_, each) => $(each).text().trim() === label);
    assert.equal(button.length, 1, `${url.pathname} must have one button "${label}"`);
    const form = button.closest('form');
    const fields = new URLSearchParams(form.serializeArray().map(({ name, value }) => [name, value]));
    for (const [name, value] of Object.entries(typed)) {
      assert(fields.has(name), `the form of "${label}" must have a field ${name}`);
      fields.set(name, value);
    }
    if (button.attr('name')) {
      fields.append(button.attr('name'), button.attr('value'));
    }
    return this.#go(new URL(form.attr('action'), url), { method: form.attr('method'), body: fields });
  }

  // Follows redirects to a page, or to the first URL outside the service, which it returns.
  async #go(url, request = {}) {
    const headers = this.#cookie ? { cookie: `${COOKIE}=${this.#cookie}` } : {};
    const response = await fetch(url, { ...request, headers, redirect: 'manual' });
    this.#keep(response.headers.getSetCookie());
    const body = await response.text();
    if (response.status === 303) {
      const next = new URL(response.headers.get('location'), url);
      return next.origin === url.origin ? this.#go(next) : next;
    }
    assert.equal(response.status, 200, `${url.pathname} returned ${response.status}: ${body}`);
    return { url, $: cheerio.load(body) };
  }

  #keep(lines) {
    for (const line of lines) {
      const [pair, ...attributes] = line.split('; ');
      // The cookies of a known browser and of its organization are of no use here.
      if (/^rolecall-(known|organization)-/.test(pair)) {
        continue;
      }
      // Some browsers reject Secure cookies on http://127.0.0.1.
      assert(pair.startsWith(`${COOKIE}=`) && !attributes.includes('Secure') && attributes.includes('Path=/'), line);
      this.#cookie = pair.slice(COOKIE.length + 1);
    }
  }
}
