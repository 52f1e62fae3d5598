// The search, the forms that send requests, and conveniences. Without this script, the pages show everything else.

"use strict";

/** The number of results that the search shows. */
const MAX_RESULTS = 12;
/** The response headers that a form shows. */
const HEADERS = ["content-type", "etag", "location", "link", "retry-after", "ratelimit", "www-authenticate",
  "idempotency-replayed", "x-request-id"];
/** The number of characters of a response that a form shows. */
const MAX_SHOWN = 200_000;

/** The API key of all forms. It is never stored, so it is gone when the page is closed. */
let key = "";

/** Creates an element with properties, attributes (names with a dash) and children. */
function element(name, properties = {}, ...children) {
  const created = document.createElement(name);
  for (const [property, value] of Object.entries(properties)) {
    if (property.includes("-")) created.setAttribute(property, value);
    else created[property] = value;
  }
  created.append(...children);
  return created;
}

// The search

const search = document.querySelector(".search");
const query = document.getElementById("search");
const results = search.querySelector(".results");
/** The entries of the index: title, URL, label, and more words in lower case, each once. */
let entries;

/** Returns how well an entry matches a word; 0 if it doesn't. */
function score([title, , label, words], word) {
  const name = title.toLowerCase();
  if (name === word) return 16;
  if (name.startsWith(word)) return 10;
  if (name.includes(` ${word}`)) return 8;
  if (name.includes(word)) return 6;
  if (label.toLowerCase().includes(word)) return 4;
  if (new RegExp(`(^|[^a-z0-9])${word.replace(/[^\w]/g, "\\$&")}`).test(words)) return 2;
  return words.includes(word) ? 1 : 0;
}

/** Returns the entries that contain all words, best first. */
function matches(words) {
  const scored = entries.map((entry) => {
    const scores = words.map((word) => score(entry, word));
    return [scores.includes(0) ? 0 : scores.reduce((sum, value) => sum + value), entry];
  });
  return scored.filter(([total]) => total > 0).sort(([a], [b]) => b - a).map(([, entry]) => entry);
}

async function find() {
  const marked = query.value.toLowerCase().split(/\s+/);
  const words = marked.map((word) => word.replace(/^[.,;:!?()"]+|[.,;:!?()"]+$/g, "")).filter(Boolean);
  results.hidden = words.length === 0;
  if (results.hidden) return;
  const [count, list] = results.children;
  try {
    entries ??= await (await fetch(search.dataset.index, { credentials: "omit" })).json();
  } catch {
    count.textContent = "The search is not available right now. The menu has all pages.";
    return;
  }
  const found = matches(words);
  const shown = found.slice(0, MAX_RESULTS);
  count.textContent = found.length === 0 ? "No results" : found.length === 1 ? "1 result" : `${found.length} results`;
  list.replaceChildren(...shown.map(([title, url, label]) =>
    element("li", {}, element("a", { href: url }, title, element("span", { textContent: label })))));
}

/** Moves the focus among the results. */
function move(event) {
  const links = [...results.querySelectorAll("a")];
  const place = links.indexOf(document.activeElement);
  if (event.key === "Escape") {
    query.value = "";
    results.hidden = true;
    query.focus();
  } else if (event.key === "ArrowDown") {
    links[Math.min(place + 1, links.length - 1)]?.focus();
  } else if (event.key === "ArrowUp") {
    (links[place - 1] ?? query).focus();
  } else if (event.key === "Enter" && place < 0 && links.length > 0) {
    links[0].click();
  } else {
    return;
  }
  event.preventDefault();
}

search.hidden = false;
query.addEventListener("input", find);
search.addEventListener("keydown", move);
search.addEventListener("click", (event) => {
  if (event.target.closest("a")) results.hidden = true;
});
document.addEventListener("click", (event) => {
  if (!search.contains(event.target)) results.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    query.select();
  }
});
if (/^(Mac|iP)/.test(navigator.platform)) search.querySelector("kbd").textContent = "⌘K";

// The samples

/** The language of samples that this browser has chosen last. */
const LANGUAGE = "rolecall-docs-language";

function remembered() {
  try {
    return localStorage.getItem(LANGUAGE);
  } catch {
    return null;
  }
}

function choose(language) {
  for (const input of document.querySelectorAll(".samples input")) input.checked = input.value === language;
}

if (["Python", "TypeScript"].includes(remembered())) choose(remembered());
for (const samples of document.querySelectorAll(".samples")) {
  samples.addEventListener("change", ({ target }) => {
    // The other samples change their height. What the reader looks at stays where it is.
    const before = samples.getBoundingClientRect().top;
    choose(target.value);
    scrollBy({ top: samples.getBoundingClientRect().top - before, behavior: "instant" });
    try {
      localStorage.setItem(LANGUAGE, target.value);
    } catch {
      // Without storage, the next page begins with curl.
    }
  });
  if (!navigator.clipboard) continue;
  const copy = element("button", { type: "button", className: "copy", textContent: "Copy" });
  copy.addEventListener("click", async () => {
    const shown = [...samples.querySelectorAll("pre")].find((code) => code.checkVisibility());
    await navigator.clipboard.writeText(shown.textContent);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  });
  samples.querySelector("pre").before(copy);
}

// The forms that send requests

/** Returns JSON as text, with the classes of its tokens. The text is never parsed as HTML. */
function highlighted(text) {
  const tokens = text.split(/("(?:[^"\\]|\\.)*"(?=:)|"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/);
  return tokens.map((token, place) => {
    if (place % 2 === 0) return token;
    const isKey = token.startsWith('"') && tokens[place + 1].startsWith(":");
    const className = isKey ? "k" : token.startsWith('"') ? "s" : /^[tfn]/.test(token) ? "w" : "n";
    return element("span", { className, textContent: token });
  });
}

/** Asks whether to send a request that writes. */
function confirmed(method, path) {
  const dialog = element("dialog", { className: "question", "aria-labelledby": "question" },
    element("h2", { id: "question", textContent: "Change live data?" }),
    element("p", {}, key.startsWith("rc_live_") ? "This is a live key. " : "This key may be for live data. ", element("code", { textContent: `${method} ${path}` }),
      " changes the live data of the organization, and may contact people."));
  const cancel = element("button", { type: "button", className: "button", textContent: "Cancel" });
  const send = element("button", { type: "button", className: "button is-first", textContent: "Send" });
  dialog.append(element("div", {}, cancel, send));
  document.body.append(dialog);
  dialog.showModal();
  cancel.focus();
  return new Promise((resolve) => {
    let answer = false;
    cancel.addEventListener("click", () => dialog.close());
    send.addEventListener("click", () => {
      answer = true;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
  });
}

/** Returns the path with the values of its parameters, and the query. */
function filled(path, inputs) {
  const parameters = new URLSearchParams();
  for (const { place, name, input } of inputs) {
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(input.value.trim()));
    if (place === "query" && input.value !== "") parameters.append(name, input.value);
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

/** Sends the request of a form and shows the response. */
async function send({ method, path, needsKey, inputs, body }, output) {
  const address = filled(path, inputs);
  if (needsKey && method !== "GET" && !key.startsWith("rc_test_") && !(await confirmed(method, address))) {
    output.replaceChildren(element("p", { className: "small", textContent: "Nothing was sent." }));
    return;
  }
  output.replaceChildren(element("p", { className: "small", textContent: "Sending" }));
  const started = performance.now();
  let response;
  let text;
  try {
    const headers = new Headers();
    if (needsKey) headers.set("authorization", `Bearer ${key}`);
    for (const { place, name, input } of inputs) {
      if (place === "header" && input.value !== "") headers.set(name, input.value);
    }
    if (body?.value.trim()) headers.set("content-type", "application/json");
    response = await fetch(address, {
      method,
      headers,
      body: body?.value.trim() ? body.value : undefined,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    text = await response.text();
  } catch (error) {
    const reason = `The request could not be sent: ${error.message}`;
    output.replaceChildren(element("p", { className: "small", textContent: reason }));
    return;
  }
  const time = Math.round(performance.now() - started);
  const shown = HEADERS.filter((name) => response.headers.has(name));
  const head = shown.map((name) => `${name}: ${response.headers.get(name)}`).join("\n");
  let parts = [text.slice(0, MAX_SHOWN)];
  try {
    const pretty = JSON.stringify(JSON.parse(text), null, 2);
    parts = pretty.length > MAX_SHOWN ? [pretty.slice(0, MAX_SHOWN), "\n..."] : highlighted(pretty);
  } catch {
    // Other types of content are shown as they are.
  }
  output.replaceChildren(
    element("p", {}, element("strong", { textContent: `${response.status} ${response.statusText}`.trim() }),
      element("span", { className: "kind", textContent: `${time} ms` })),
    element("pre", { tabIndex: 0, "aria-label": "Response headers" }, head),
    element("pre", { tabIndex: 0, "aria-label": "Response body" }, element("code", {}, ...parts)),
  );
}

/** Adds the fields of an operation's form. */
function build(place, details) {
  const { method, path, body: example } = place.dataset;
  const needsKey = "key" in place.dataset;
  const form = element("form", { autocomplete: "off", noValidate: false });
  const labelled = (label, input) => form.append(element("label", {}, label, input));
  if (needsKey) {
    const input = element("input", {
      type: "text", className: "key", required: true, autocomplete: "off", spellcheck: false,
      placeholder: "rc_test_...", value: key,
    });
    input.addEventListener("input", () => {
      key = input.value.trim();
      for (const other of document.querySelectorAll(".try .key")) if (other !== input) other.value = key;
    });
    labelled("API key, kept only until you leave this page", input);
  }
  const rows = [...(place.closest(".operation")?.querySelectorAll("li[data-in]") ?? [])];
  const inputs = rows.map((row) => {
    const { dataset } = row;
    const required = "required" in dataset;
    const values = [...row.querySelectorAll(":scope > .values code")].map(({ textContent }) => textContent);
    const input = values.length > 0
      ? element("select", { required }, ...["", ...values].map((value) => element("option", { value }, value)))
      : element("input", { type: "text", required, spellcheck: false });
    labelled(required ? dataset.name : `${dataset.name} (optional)`, input);
    return { place: dataset.in, name: dataset.name, input };
  });
  let body;
  if (example) {
    const lines = example.split("\n").length;
    body = element("textarea", { value: example, rows: Math.min(lines + 1, 16), spellcheck: false });
    labelled("Body", body);
  }
  const button = element("button", { className: "button is-first", textContent: `Send ${method}` });
  form.append(button);
  const output = element("output", {});
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    await send({ method, path, needsKey, inputs, body }, output);
    button.disabled = false;
  });
  details.append(form, output);
}

for (const place of document.querySelectorAll(".try")) {
  const details = element("details", {}, element("summary", { textContent: "Try it" }));
  details.addEventListener("toggle", () => build(place, details), { once: true });
  place.append(details);
  place.hidden = false;
}

// The menu

const menu = document.getElementById("menu");
const links = [...menu.querySelectorAll("a[href*='#']")].filter(({ pathname }) => pathname === location.pathname);
const headings = links.map(({ hash }) => document.getElementById(hash.slice(1)));

/** Marks the last heading above the upper third of the window. */
function mark() {
  const place = headings.findLastIndex((heading) => heading?.getBoundingClientRect().top < innerHeight / 3);
  links.forEach((link, index) => {
    if (index === place) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}

menu.addEventListener("click", (event) => {
  if (event.target.closest("a") && menu.matches(":popover-open")) menu.hidePopover();
});
menu.querySelector("[aria-current], [open]")?.scrollIntoView({ block: "nearest", behavior: "instant" });
addEventListener("scroll", mark, { passive: true });
mark();
