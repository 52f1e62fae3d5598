// The README's walkthrough, and the story, with openapi-fetch and the types that openapi-typescript generates.

import assert from "node:assert/strict";
import { env } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { GatewayError, Invalid, ListedRoleList, Problem, ProblemOrGatewayError, RoleInput, paths } from "../made/rolecall.js";

const connect = (baseUrl = "", key = "") =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const api = connect(env["ROLECALL"], env["ROLECALL_KEY"]);

// Returns the reason for an error. Gateway errors have only a message.
function reason(error: Problem | ProblemOrGatewayError | GatewayError | Invalid): string {
  if ("messages" in error) return error.messages.join("; ");
  return ("code" in error ? error.code : "message" in error ? error.message : undefined) ?? "unknown";
}

// Returns the data of a successful request.
function done<Data>(answer: {
  data?: Data;
  error?: Problem | ProblemOrGatewayError | GatewayError | Invalid;
  response: Response;
}): Data {
  if (answer.error !== undefined) assert.fail(reason(answer.error));
  assert(answer.data !== undefined, String(answer.response.status));
  return answer.data;
}

// Returns the error of a request that a function must reject.
function rejected<E extends object>(answer: { error?: E | GatewayError; response: Response }): E {
  assert(answer.error !== undefined && !("message" in answer.error), String(answer.response.status));
  return answer.error;
}

function header(answer: { response: Response }, name: string): string {
  const value = answer.response.headers.get(name);
  assert(value !== null, name);
  return value;
}

// Create and publish a role with its posting. A repeated request is replayed; with another body it is rejected.
const engineer = { title: "Senior Rust Engineer", remote_policy: "remote", salary_min: 150_000 } satisfies RoleInput;
const once = { header: { "Idempotency-Key": "openapi_fetch" } };
const { role, job_posting } = done(await api.POST("/api/v1/quick_post", { params: once, body: { role: engineer } }));
const again = await api.POST("/api/v1/quick_post", { params: once, body: { role: engineer } });
assert.equal(header(again, "Idempotency-Replayed"), "true");
assert.equal(done(again).role.id, role.id);
const other = await api.POST("/api/v1/quick_post", { params: once, body: { role: engineer, publish: false } });
assert.equal(rejected(other).code, "idempotency_mismatch");
assert.deepEqual([role.status, role.job_posting_url], ["open", job_posting.public_url]);
console.log("key");

// Add a candidate, screen and hire her.
const person = { name: "Grace Hopper", email: "grace@fetch.example", role_id: role.id };
const grace = done(await api.POST("/api/v1/candidates", { body: person }));
assert.equal(grace.phone, null);
const candidate = { path: { id: grace.id } };
const { id } = done(
  await api.POST("/api/v1/candidates/{id}/invite_screen", { params: candidate, body: { role_id: role.id } }),
);
for (let tries = 0; ; tries++) {
  const screen = done(await api.GET("/api/v1/voice_screens/{id}", { params: { path: { id } } }));
  if (screen.completed_at !== null) {
    assert(screen.scores !== null && screen.scores.overall !== null && screen.transcript[0] !== undefined);
    break;
  }
  assert(tries < 3_000, "the screen has not completed");
  await sleep(100);
}
const offer = { stage: "offer" } as const;
const offered = done(await api.POST("/api/v1/candidates/{id}/advance", { params: candidate, body: offer }));
assert.equal(offered.stage, "offer");
const start = { start_date: "2027-01-04" };
const { applications } = done(await api.POST("/api/v1/candidates/{id}/hire", { params: candidate, body: start }));
const hired = done(await api.GET("/api/v1/candidates/{id}", { params: candidate }));
assert.deepEqual(hired.applications, applications);
const [first, second] = hired.touchpoints;
assert(first?.kind === "hired" && first.detail.start_date === start.start_date);
assert(second?.kind === "stage_changed" && second.detail.to === "offer");

// Create some drafts, and list all roles page by page.
for (const title of ["Data Engineer", "Product Designer", "Recruiter"]) {
  done(await api.POST("/api/v1/roles", { body: { title } }));
}
const titles: string[] = [];
let cursor: string | null = null;
do {
  const query = { limit: 2, ...(cursor === null ? {} : { cursor }) };
  const page: ListedRoleList = done(await api.GET("/api/v1/roles", { params: { query } }));
  titles.push(...page.data.map(({ title }) => title));
  cursor = page.next_cursor;
} while (cursor !== null);
assert.deepEqual(titles.slice(0, 4), ["Recruiter", "Product Designer", "Data Engineer", engineer.title]);
console.log("pages");

// Update a role, also with a stale version.
const path = { id: role.id };
const version = header(await api.GET("/api/v1/roles/{id}", { params: { path } }), "ETag");
const params = { path, header: { "If-Match": version } };
const berlin = { location: "Berlin", salary_min: null };
const placed = done(await api.PATCH("/api/v1/roles/{id}", { params, body: berlin }));
assert.deepEqual([placed.location, placed.salary_min], ["Berlin", null]);
console.log("null");
const lost = await api.PATCH("/api/v1/roles/{id}", { params, body: { location: null } });
assert.equal(rejected(lost).code, "precondition_failed");

// Make mistakes.
const mistakes = rejected(await api.POST("/api/v1/roles", { body: { title: " ", salary_min: 2, salary_max: 1 } }));
assert("messages" in mistakes);
assert.deepEqual(mistakes.messages, ["title can't be blank", "salary_min must be at most salary_max"]);
console.log("422");
const late = rejected(await api.POST("/api/v1/candidates/{id}/reject", { params: candidate }));
assert.equal(late.code, "invalid_transition");
assert.equal(rejected(await connect(env["ROLECALL"], "rc_live_nobody").GET("/api/v1/roles")).code, "unauthorized");

// Ask for what has not changed, go over the limit, and meet a newer release.
const fresh = header(await api.GET("/api/v1/roles/{id}", { params: { path } }), "ETag");
const unchanged = await api.GET("/api/v1/roles/{id}", { params: { path, header: { "If-None-Match": fresh } } });
assert(unchanged.response.status === 304 && unchanged.data === undefined);
console.log("304");
const limited = await connect(env["ROLECALL"], env["ROLECALL_LIMITED_KEY"]).GET("/api/v1/roles");
assert.equal(rejected(limited).code, "rate_limited");
assert(limited.response.status === 429 && Number(header(limited, "Retry-After")) > 0);
console.log("429");
const future = connect(env["ROLECALL_FUTURE"], env["ROLECALL_KEY"]);
done(await future.GET("/api/v1/roles"));
done(await future.GET("/api/v1/candidates"));
done(await future.GET("/api/v1/candidates/{id}", { params: candidate }));
console.log("future");
