// Runs what the guide prints for Zapier and n8n. Zapier's code runs in Zapier's own runner. n8n itself is too large for this: its
// own engine evaluates the expressions, and the requests are made here, in the order in which its HTTP Request node makes them.
//
// Usage: copies.mjs zapier|n8n FILE API KEY
//
// For each line {"days", "now", "again"} of the input, it prints what has changed and what is no longer there.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";

const require = createRequire(import.meta.url);
const [tool, file, api, key] = process.argv.slice(2);
// Zapier's runner prints how much memory it uses.
console.log = console.error;
const TYPES = { candidate: "candidate.erased", application: "application.deleted" };

/** Zapier passes on only what has an id that the Zap has not had. */
function zapier() {
  const core = require("zapier-platform-core");
  const app = require(file);
  // Zapier's own check of an integration, which takes functions in this form.
  const definition = JSON.stringify(app, (_, value) => (typeof value === "function" ? `$func$${value.length}$f$` : value));
  const { errors } = require("zapier-platform-schema").validateAppDefinition(JSON.parse(definition));
  if (errors.length) throw new Error(errors.map(String).join("\n"));
  const appTester = core.createAppTester(app);
  const had = new Map(Object.keys(app.triggers).map((name) => [name, new Set()]));
  const poll = async (name, inputData) => {
    const rows = await appTester(app.triggers[name].operation.perform, { authData: { key }, inputData });
    return rows.filter((row) => !had.get(name).has(row.id) && had.get(name).add(row.id)).reverse();
  };
  return async (days, again) => {
    // Who fills the tables anew takes all rows.
    if (again) had.forEach((ids) => ids.clear());
    const found = {};
    for (const noun of Object.keys(TYPES)) {
      const changed = await poll(`changed_${noun}`, { days });
      found[`${noun}s`] = changed.map(({ [`${noun}_id`]: id, ...row }) => ({ ...row, id }));
      found[TYPES[noun]] = (await poll(`deleted_${noun}`, {})).map((row) => row[`${noun}_id`]);
    }
    return found;
  };
}

function n8n() {
  const { Tournament } = require("@n8n/tournament");
  const { parameters: node } = JSON.parse(readFileSync(file, "utf8")).nodes[0];
  const { pagination } = node.options.pagination;
  // An expression that fails has no value.
  const engine = new Tournament(() => undefined);
  const value = (text, data) => (text.startsWith("=") ? engine.execute(text.slice(1), { ...data, Date, Object }) : text);
  const read = async (path, parameters, json) => {
    const rows = [];
    let response = {};
    do {
      const query = new URLSearchParams();
      for (const { name, value: text } of parameters) query.set(name, value(text, { $json: json }));
      for (const { name, value: text } of pagination.parameters.parameters) {
        const ofPage = value(text, { $response: response });
        if (ofPage) query.set(name, ofPage);
      }
      const answer = await fetch(`${api}${path}?${query}`, { headers: { Authorization: `Bearer ${key}` } });
      if (!answer.ok) throw new Error(await answer.text());
      response = { body: await answer.json() };
      rows.push(...response.body.data);
    } while (!value(pagination.completeExpression, { $response: response }));
    return rows;
  };
  return async (days) => {
    const found = {};
    for (const noun of Object.keys(TYPES)) {
      found[`${noun}s`] = await read(`/${noun}s`, node.queryParameters.parameters, { days });
      const events = await read("/events", [{ name: "type", value: TYPES[noun] }], {});
      found[TYPES[noun]] = events.map((event) => event.subject.id);
    }
    return found;
  };
}

const read = { zapier, n8n }[tool]();
for await (const line of createInterface({ input: process.stdin })) {
  const { days, now, again } = JSON.parse(line);
  Date.now = () => Date.parse(now);
  process.stdout.write(`${JSON.stringify(await read(days, again))}\n`);
}
