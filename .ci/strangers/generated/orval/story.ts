// The story with the client that orval generates, and its schemas for Zod.

import assert from "node:assert/strict";
import { env } from "node:process";
import {
  createQuickPost,
  createRole,
  listCandidates,
  listRoles,
  showCandidate,
  showRole,
  updateRole,
} from "../made/orval/client.js";
import { listCandidatesResponse, listRolesResponse, showCandidateResponse } from "../made/orval/zod.js";
import { service } from "./send.js";

const role = { title: "Baker", location: "Berlin", salary_min: 50_000, remote_policy: "hybrid" } as const;
const once = { headers: { "Idempotency-Key": "orval" } };
const posted = await createQuickPost({ role }, once);
assert(posted.status === 201 && posted.data.role.status === "open");
const again = await createQuickPost({ role }, once);
assert.deepEqual([again.data, again.headers.get("Idempotency-Replayed")], [posted.data, "true"]);
console.log("key");

const found: number[] = [];
let cursor: string | undefined;
do {
  const page = await listRoles({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
  assert(page.status === 200);
  found.push(...page.data.data.map(({ id }) => id));
  cursor = page.data.next_cursor ?? undefined;
} while (cursor !== undefined);
const { id } = posted.data.role;
assert(found.includes(id) && new Set(found).size === found.length && found.length > 3, String(found));
console.log("pages");

const changed = await updateRole(id, { salary_min: null });
assert(changed.status === 200);
assert.deepEqual([changed.data.salary_min, changed.data.location], [null, "Berlin"]);
console.log("null");

const mistakes = await createRole({ title: " ", salary_min: 2, salary_max: 1 });
assert(mistakes.status === 422);
assert.deepEqual(mistakes.data.messages, ["title can't be blank", "salary_min must be at most salary_max"]);
console.log("422");

const tag = (await showRole(id)).headers.get("ETag") ?? "";
const unchanged = await showRole(id, { headers: { "If-None-Match": tag } });
assert(unchanged.status === 304);
console.log("304");

service.key = env["ROLECALL_LIMITED_KEY"] ?? "";
const limited = await listRoles();
assert(limited.status === 429 && limited.data.code === "rate_limited");
assert(Number(limited.headers.get("Retry-After")) > 0);
service.key = env["ROLECALL_KEY"] ?? "";
console.log("429");

const [candidate] = listCandidatesResponse.parse((await listCandidates()).data).data;
assert(candidate !== undefined);
service.base = env["ROLECALL_FUTURE"] ?? "";
listRolesResponse.parse((await listRoles()).data);
listCandidatesResponse.parse((await listCandidates()).data);
showCandidateResponse.parse((await showCandidate(candidate.id)).data);
console.log("future");
