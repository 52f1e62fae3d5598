// A member at a browser: follows redirects, signs in, and answers the consent page. The forms are sent as they came, hidden
// fields and all.

import assert from 'node:assert/strict';
import * as cheerio from 'cheerio';

// The local service has this member of Acme on every machine.
const CREDENTIALS = { email: 'ada@acme.example', password: 'acme demo password' };
const COOKIE = '__Host-rolecall';

export class Member {
  #cookie;

  // Where the browser is sent with a yes: the application's redirect URI with the answer. `choices` are fields of the form.
  allow(address, choices) {
    return this.#answer(address, 'Allow', choices);
  }

  // Where the browser is sent with a no.
  deny(address) {
    return this.#answer(address, 'Deny');
  }

  async #answer(address, button, choices) {
    let page = await this.#go(new URL(address));
    if (page.url.pathname === '/dashboard/sign-in') {
      page = await this.#press(page, 'Sign in', CREDENTIALS);
    }
    const answer = await this.#press(page, button, choices);
    assert(answer instanceof URL, 'the answer leaves the service');
    return answer;
  }

  #press({ url, $ }, label, typed = {}) {
    const button = $('button').filter((_, each) => $(each).text().trim() === label);
    assert.equal(button.length, 1, `${url.pathname} has one button "${label}"`);
    const form = button.closest('form');
    const fields = new URLSearchParams(form.serializeArray().map(({ name, value }) => [name, value]));
    for (const [name, value] of Object.entries(typed)) {
      assert(fields.has(name), `the form of "${label}" has a field ${name}`);
      fields.set(name, value);
    }
    if (button.attr('name')) {
      fields.append(button.attr('name'), button.attr('value'));
    }
    return this.#go(new URL(form.attr('action'), url), { method: form.attr('method'), body: fields });
  }

  // The page at the end of the redirects, or the first address that is not the service's.
  async #go(url, request = {}) {
    const headers = this.#cookie ? { cookie: `${COOKIE}=${this.#cookie}` } : {};
    const response = await fetch(url, { ...request, headers, redirect: 'manual' });
    this.#keep(response.headers.getSetCookie());
    const body = await response.text();
    if (response.status === 303) {
      const next = new URL(response.headers.get('location'), url);
      return next.origin === url.origin ? this.#go(next) : next;
    }
    assert.equal(response.status, 200, `${url.pathname} answers ${response.status}: ${body}`);
    return { url, $: cheerio.load(body) };
  }

  #keep(lines) {
    for (const line of lines) {
      const [pair, ...attributes] = line.split('; ');
      // Without them a browser throws away a cookie whose name begins like this one's.
      assert(pair.startsWith(`${COOKIE}=`) && attributes.includes('Secure') && attributes.includes('Path=/'), line);
      this.#cookie = pair.slice(COOKIE.length + 1);
    }
  }
}
