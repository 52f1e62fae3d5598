// The story with the client that openapi-generator generates for TypeScript: typescript-fetch.

import assert from "node:assert/strict";
import { env } from "node:process";
import {
  CandidatesApi,
  Configuration,
  InvalidFromJSON,
  ProblemFromJSON,
  QuickPostApi,
  ResponseError,
  RolesApi,
} from "../made/openapi_generator_fetch/index.js";

const connect = (basePath = "", accessToken = "") => new Configuration({ basePath, accessToken });

// The response of a request that fails.
async function refused(request: Promise<unknown>): Promise<Response> {
  const error: unknown = await request.then(() => undefined, (error: unknown) => error);
  assert(error instanceof ResponseError, String(error));
  return error.response;
}

const client = connect(env["ROLECALL"], env["ROLECALL_KEY"]);
const roles = new RolesApi(client);
const role = { title: "Baker", location: "Berlin", salaryMin: 50_000, remotePolicy: "hybrid" } as const;
const once = { idempotencyKey: "openapi_generator_fetch", quickPostInput: { role } };
const posted = await new QuickPostApi(client).createQuickPost(once);
assert.deepEqual([posted.role.status, posted.role.salaryMin, posted.role.remotePolicy], ["open", 50_000, "hybrid"]);
const again = await new QuickPostApi(client).createQuickPostRaw(once);
assert.equal(again.raw.headers.get("Idempotency-Replayed"), "true");
assert.deepEqual(await again.value(), posted);
console.log("key");

const found: number[] = [];
let cursor: string | undefined;
do {
  const page = await roles.listRoles({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
  found.push(...page.data.map(({ id }) => id));
  cursor = page.nextCursor ?? undefined;
} while (cursor !== undefined);
assert(found.includes(posted.role.id) && new Set(found).size === found.length && found.length > 3, String(found));
console.log("pages");

const { id } = posted.role;
const changed = await roles.updateRole({ id, rolePatch: { salaryMin: null } });
assert.deepEqual([changed.salaryMin, changed.location], [null, "Berlin"]);
console.log("null");

const mistakes = await refused(roles.createRole({ roleInput: { title: " ", salaryMin: 2, salaryMax: 1 } }));
const { messages } = InvalidFromJSON(await mistakes.json());
assert.deepEqual(messages, ["title can't be blank", "salary_min must be at most salary_max"]);
console.log("422");

const shown = await roles.showRoleRaw({ id });
const ifNoneMatch = shown.raw.headers.get("ETag") ?? "";
assert.equal((await refused(roles.showRole({ id, ifNoneMatch }))).status, 304);
console.log("304");

const limited = await refused(new RolesApi(connect(env["ROLECALL"], env["ROLECALL_LIMITED_KEY"])).listRoles());
assert.equal(ProblemFromJSON(await limited.json()).code, "rate_limited");
assert(limited.status === 429 && Number(limited.headers.get("Retry-After")) > 0);
console.log("429");

const [candidate] = (await new CandidatesApi(client).listCandidates({ limit: 1 })).data;
assert(candidate !== undefined);
const future = connect(env["ROLECALL_FUTURE"], env["ROLECALL_KEY"]);
await new RolesApi(future).listRoles();
await new CandidatesApi(future).listCandidates();
await new CandidatesApi(future).showCandidate({ id: candidate.id });
console.log("future");
