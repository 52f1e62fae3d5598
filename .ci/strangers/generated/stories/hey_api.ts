// The story with the client that hey-api generates, which checks every request and response with Zod.

import assert from "node:assert/strict";
import { env } from "node:process";
import { createClient } from "../made/hey_api/client/index.js";
import {
  createQuickPost,
  createRole,
  listCandidates,
  listRoles,
  showCandidate,
  showRole,
  updateRole,
} from "../made/hey_api/index.js";

const connect = (baseUrl = "", key = "") => createClient({ baseUrl, auth: key });

// The data of a request that succeeds.
function done<Data>({ data, error }: { data: Data | undefined; error?: unknown }): Data {
  if (data === undefined) assert.fail(`${String(error)} ${JSON.stringify(error)}`);
  return data;
}

const client = connect(env["ROLECALL"], env["ROLECALL_KEY"]);
const role = { title: "Baker", location: "Berlin", salary_min: 50_000, remote_policy: "hybrid" } as const;
const once = { client, headers: { "Idempotency-Key": "hey_api" }, body: { role } };
const posted = done(await createQuickPost(once));
assert.deepEqual([posted.role.status, posted.role.salary_min, posted.role.remote_policy], ["open", 50_000, "hybrid"]);
const again = await createQuickPost(once);
assert.equal(again.response?.headers.get("Idempotency-Replayed"), "true");
assert.deepEqual(done(again), posted);
console.log("key");

const found: number[] = [];
let cursor: string | undefined;
do {
  const page = done(await listRoles({ client, query: { limit: 3, ...(cursor === undefined ? {} : { cursor }) } }));
  found.push(...page.data.map(({ id }) => id));
  cursor = page.next_cursor ?? undefined;
} while (cursor !== undefined);
assert(found.includes(posted.role.id) && new Set(found).size === found.length && found.length > 3, String(found));
console.log("pages");

const path = { id: posted.role.id };
const changed = done(await updateRole({ client, path, body: { salary_min: null } }));
assert.deepEqual([changed.salary_min, changed.location], [null, "Berlin"]);
console.log("null");

const { error } = await createRole({ client, body: { title: " ", salary_min: 2, salary_max: 1 } });
assert(error !== undefined && "messages" in error, JSON.stringify(error));
assert.deepEqual(error.messages, ["title can't be blank", "salary_min must be at most salary_max"]);
console.log("422");

const shown = await showRole({ client, path });
const unchanged = await showRole({ client, path, headers: { "If-None-Match": shown.response?.headers.get("ETag") ?? "" } });
assert(unchanged.response?.status === 304 && unchanged.data === undefined);
console.log("304");

const limited = await listRoles({ client: connect(env["ROLECALL"], env["ROLECALL_LIMITED_KEY"]) });
assert(limited.error !== undefined && "code" in limited.error && limited.error.code === "rate_limited");
assert(limited.response?.status === 429 && Number(limited.response.headers.get("Retry-After")) > 0);
console.log("429");

const [candidate] = done(await listCandidates({ client, query: { limit: 1 } })).data;
assert(candidate !== undefined);
const future = connect(env["ROLECALL_FUTURE"], env["ROLECALL_KEY"]);
const answers = [
  await listRoles({ client: future }),
  await listCandidates({ client: future }),
  await showCandidate({ client: future, path: { id: candidate.id } }),
];
const failed = answers.filter((answer) => answer.data === undefined);
if (failed.length === 0) console.log("future");
else console.log("-- future:", failed.map(({ error }) => String(error).slice(0, 200)).join("; "));
