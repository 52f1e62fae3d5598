// The README's walkthrough and many other operations, with the types that openapi-typescript generates.
//
// Usage: node session.js BASE

import assert from "node:assert/strict";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type {
  ApiError,
  Channel,
  GatewayError,
  Invalid,
  ListedRoleList,
  NewRole,
  OAuthError,
  paths,
  Touchpoint,
  VoiceScreenDetail,
} from "./generated/rolecall.js";

const ACME = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ";
const GLOBEX = "rc_live_000000002000000002ZCG7000000DemoKeyOfGlobexLiveNoSecretHoFqctcKUab3rjR1L";

const baseUrl = process.argv[2];
assert(baseUrl !== undefined, "usage: session.js BASE");
const client = (key: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const api = client(ACME);

// Every operation that was used, and whether it succeeded at least once.
const used = new Map<string, boolean>();
api.use({
  onResponse({ request, response, schemaPath }) {
    const operation = `${request.method} ${schemaPath}`;
    used.set(operation, response.ok || used.get(operation) === true);
  },
});

// The operations that cannot succeed without a browser or a provider's secret.
const REJECTED = {
  "POST /oauth/token": "a code requires a member's consent",
  "POST /webhooks/voice/{provider}": "a signature requires the provider's secret",
};

// Returns the reason for an error. Gateway errors have no code. For other errors, the code determines the type.
function reason(error: ApiError | GatewayError | Invalid | OAuthError): string {
  if ("message" in error) return error.message;
  if ("error_description" in error) return error.error_description;
  switch (error.code) {
    case "validation_failed":
    case "duplicate":
    case "invalid_transition":
    case "channel_not_connected":
    case "consent_required":
    case "idempotency_mismatch":
      return error.messages.join("; ");
    default:
      return `${error.code} (${error.request_id})`;
  }
}

// Returns the data of a successful request.
function done<Data>(answer: {
  data?: Data;
  error?: ApiError | GatewayError | Invalid | OAuthError;
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

// Summarizes a touchpoint, using the details of its kind.
function summary(touchpoint: Touchpoint): string {
  switch (touchpoint.kind) {
    case "created":
      return `created (${touchpoint.detail.source})`;
    case "applied":
      return `applied for ${String(touchpoint.detail.role_id)}, form ${String(touchpoint.detail.submission_id ?? "none")}`;
    case "reapplied":
      return `applied again, form ${String(touchpoint.detail.submission_id)}`;
    case "offered_accepted":
    case "offered_dismissed":
      return `${touchpoint.kind} ${String(touchpoint.detail.application_id)}`;
    case "updated":
      return `updated ${touchpoint.detail.fields.join(", ")}`;
    case "stage_changed":
      return `${touchpoint.detail.from} to ${touchpoint.detail.to}`;
    case "rejected":
      return `rejected: ${touchpoint.detail.reason ?? "for no reason"}`;
    case "unrejected":
    case "unhired":
      return `back to ${touchpoint.detail.to}`;
    case "hired":
      return `hired from ${touchpoint.detail.start_date ?? "now"}`;
    case "application_closed":
    case "application_reopened":
      return `${touchpoint.kind}: ${String(touchpoint.detail.application_id)}`;
    case "note_added":
    case "note_deleted":
      return `${touchpoint.kind}: ${String(touchpoint.detail.note_id)}`;
    case "consent_changed":
      return `${touchpoint.detail.purpose}: ${String(touchpoint.detail.granted)}`;
    case "screen_invited":
      return `invited, ${touchpoint.detail.scheduled_at ?? "now"}`;
    case "screen_cancelled":
      return `cancelled: ${touchpoint.detail.reason}`;
    case "screen_completed":
      return `screened: ${touchpoint.detail.result ?? "without a result"}`;
  }
}

// Lists the parts of the transcript behind a screen's highlights and red flags.
function evidence(screen: VoiceScreenDetail): string[] {
  return [...screen.highlights, ...screen.red_flags].map(({ text, turn }) => {
    const quoted = turn === null ? undefined : screen.transcript[turn];
    return quoted === undefined ? text : `${quoted.speaker} at ${quoted.at_seconds.toFixed()}: ${quoted.text}`;
  });
}

function use({ account, status, usage }: Channel): string {
  const limit = usage.limit === null ? "" : ` of ${usage.limit.toFixed()}`;
  return `${account ?? "nobody"}, ${status}: ${usage.used.toFixed()}${limit} a ${usage.period}`;
}

// Lists all roles, newest first, two per page.
async function* roles() {
  let cursor: string | null = null;
  do {
    const query = { limit: 2, ...(cursor === null ? {} : { cursor }) };
    const page: ListedRoleList = done(await api.GET("/api/v1/roles", { params: { query } }));
    assert(page.data.length <= 2);
    yield* page.data;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

// Create and publish a role with its posting. A repeated request is replayed; with another body it is rejected.
const engineer = {
  title: "Senior Rust Engineer",
  location: "Remote",
  remote_policy: "remote",
  salary_min: 150_000,
  salary_max: 190_000,
} satisfies NewRole;
const once = { header: { "Idempotency-Key": "first-session" } };
const posted = done(await api.POST("/api/v1/quick_post", { params: once, body: { role: engineer } }));
const again = await api.POST("/api/v1/quick_post", { params: once, body: { role: engineer } });
assert.equal(header(again, "Idempotency-Replayed"), "true");
assert.equal(done(again).role.id, posted.role.id);
const other = await api.POST("/api/v1/quick_post", { params: once, body: { role: engineer, publish: false } });
assert.equal(rejected(other).code, "idempotency_mismatch");
assert.equal(posted.role.status, "open");
assert.equal(posted.role.job_posting_url, posted.job_posting.public_url);
const role = { path: { id: posted.role.id } };

// Add a candidate, screen and hire her.
const grace = done(
  await api.POST("/api/v1/candidates", {
    body: { name: "Grace Hopper", email: "grace@example.com", role_id: posted.role.id },
  }),
);
assert.equal(grace.phone, null);
const candidate = { path: { id: grace.id } };
const later = { role_id: posted.role.id, scheduled_at: new Date(Date.now() + 86_400_000).toISOString() };
const planned = done(await api.POST("/api/v1/candidates/{id}/invite_screen", { params: candidate, body: later }));
const unwanted = { path: { id: planned.id } };
const cancelled = done(await api.POST("/api/v1/voice_screens/{id}/cancel", { params: unwanted }));
assert.deepEqual([planned.status, cancelled.status], ["scheduled", "cancelled"]);
const invited = done(
  await api.POST("/api/v1/candidates/{id}/invite_screen", { params: candidate, body: { role_id: posted.role.id } }),
);
assert.equal(invited.status, "queued");
for (let tries = 0; ; tries++) {
  const { data } = done(
    await api.GET("/api/v1/voice_screens", { params: { query: { role_id: posted.role.id, status: "completed" } } }),
  );
  if (data.some(({ id }) => id === invited.id)) break;
  assert(tries < 3_000, "the screen has not completed");
  await sleep(100);
}
const screen = done(await api.GET("/api/v1/voice_screens/{id}", { params: { path: { id: invited.id } } }));
assert(screen.scores !== null);
assert.notEqual(screen.scores.overall, null);
assert.equal(screen.assessment?.provider, "simulator");
assert(screen.transcript.length > 0);
assert(!evidence(screen).includes(""));
const advanced = done(
  await api.POST("/api/v1/candidates/{id}/advance", { params: candidate, body: { stage: "offer" } }),
);
assert.deepEqual([advanced.stage, advanced.applications.map(({ stage }) => stage)], ["offer", ["offer"]]);
const hire = { start_date: "2027-01-04", role_id: posted.role.id };
const moved = done(await api.POST("/api/v1/candidates/{id}/hire", { params: candidate, body: hire }));
assert.deepEqual(
  moved.applications.map(({ stage, status, start_date }) => [stage, status, start_date]),
  [["hired", "hired", hire.start_date]],
);
const hired = done(await api.GET("/api/v1/candidates/{id}", { params: candidate }));
const exported = done(await api.GET("/api/v1/candidates/{id}/export", { params: candidate }));
assert.deepEqual(exported.voice_screens[0]?.transcript, screen.transcript);
assert.deepEqual(
  hired.applications.map(({ role_title, source, status }) => [role_title, source, status]),
  [[engineer.title, "manual", "hired"]],
);
assert.equal(hired.voice_screens[0]?.id, screen.id);
assert.deepEqual(hired.touchpoints.map(summary).slice(0, 2), ["hired from 2027-01-04", "screening to offer"]);
const actor = hired.touchpoints[0]?.actor;
assert(actor?.type === "api_key" && actor.id !== null && actor.name !== "");
const note = done(
  await api.POST("/api/v1/candidates/{id}/notes", { params: candidate, body: { text: "Starts in January." } }),
);
assert.deepEqual(note.actor, actor);
assert.deepEqual(done(await api.GET("/api/v1/candidates/{id}/notes", { params: candidate })).data, [note]);
const noted = { path: { id: grace.id, note_id: note.id } };
assert.deepEqual(done(await api.DELETE("/api/v1/candidates/{id}/notes/{note_id}", { params: noted })), note);
const { data: newest } = done(
  await api.GET("/api/v1/candidates/{id}/touchpoints", { params: { ...candidate, query: { limit: 2 } } }),
);
assert.deepEqual(newest.map(summary), [`note_deleted: ${String(note.id)}`, `note_added: ${String(note.id)}`]);
const asked = { touchpoints: 2, include: "possible_duplicates" } as const;
const part = done(await api.GET("/api/v1/candidates/{id}", { params: { ...candidate, query: asked } }));
assert.deepEqual([part.touchpoints, part.possible_duplicates], [newest, []]);
const consent = done(
  await api.POST("/api/v1/candidates/{id}/consents", {
    params: candidate,
    body: { purpose: "recording", granted: false, obtained_at: note.created_at, wording: "Please do not record me." },
  }),
);
assert.deepEqual(consent.actor, actor);
const refused = done(await api.GET("/api/v1/candidates/{id}", { params: candidate }));
assert.deepEqual(refused.consents, [consent]);
assert.deepEqual(refused.touchpoints.map(summary).slice(0, 1), ["recording: false"]);
const onceMore = new URLSearchParams({ name: grace.name, email: grace.email, note: "Once more.", consent: "yes" });
const sent = await fetch(`${posted.job_posting.public_url}/apply`, { method: "POST", body: onceMore, redirect: "manual" });
assert.equal(sent.status, 303);
const [reapplied] = done(await api.GET("/api/v1/candidates/{id}", { params: candidate })).touchpoints;
assert(reapplied?.kind === "reapplied");
const formPath = { path: { id: grace.id, submission_id: reapplied.detail.submission_id } };
const formRoute = "/api/v1/candidates/{id}/submissions/{submission_id}";
assert.equal(done(await api.GET(formRoute, { params: formPath })).note, "Once more.");
const alan = done(await api.POST("/api/v1/candidates", { body: { name: "Alan Turing", email: "alan@example.com" } }));
const mistaken = { path: { id: alan.id } };
const held = done(
  await api.PUT("/api/v1/candidates/{id}/legal_hold", { params: mistaken, body: { reason: "A lawsuit is pending." } }),
);
assert.deepEqual(held.legal_hold?.actor, actor);
assert.equal(rejected(await api.POST("/api/v1/candidates/{id}/erase", { params: mistaken })).code, "legal_hold");
assert.equal(done(await api.DELETE("/api/v1/candidates/{id}/legal_hold", { params: mistaken })).legal_hold, null);
const erased = done(await api.POST("/api/v1/candidates/{id}/erase", { params: mistaken, body: { reason: "mistake" } }));
assert.deepEqual([erased.id, erased.reason, erased.actor.id], [alan.id, "mistake", actor.id]);
assert.equal(rejected(await api.GET("/api/v1/candidates/{id}", { params: mistaken })).code, "erased");
const { role_id, stages, ...stats } = done(await api.GET("/api/v1/roles/{id}/stats", { params: role }));
assert.equal(role_id, posted.role.id);
assert.deepEqual([stats.applicants, stats.screens_completed], [1, 1]);
assert.equal(stats.average_score, screen.scores.overall);
assert.deepEqual([stages.offer.now, stages.offer.ever, stages.offer.median_days], [0, 1, 0]);
assert.deepEqual([stages.hired.now, stages.hired.ever, stages.hired.median_days], [1, 1, null]);
const open = done(await api.GET("/api/v1/roles", { params: { query: { status: "open", include: "stats" } } }));
assert.deepEqual(open.data.find(({ id }) => id === role_id)?.stats, stats);

// Announce the job on X, and look at the career pages.
const post = done(
  await api.POST("/api/v1/channels/x/post", { body: { job_posting_id: posted.job_posting.id, style: "casual" } }),
);
assert(post.text.includes(posted.job_posting.public_url));
const posts = done(await api.GET("/api/v1/channels/x/posts"));
assert.deepEqual([posts.data[0]?.external_id, posts.next_cursor], [post.external_id, null]);
const channels = done(await api.GET("/api/v1/channels"));
assert.match(use(channels.x), /connected: 1 a day$/);
const careers = { params: { path: { org: "acme" } } };
const feed = done(await api.GET("/careers/{org}/jobs.json", careers));
assert.deepEqual([feed.jobs.map(({ url }) => url), feed.next_url], [[posted.job_posting.public_url], null]);
const sitemap = done(await api.GET("/careers/{org}/sitemap.xml", { ...careers, parseAs: "text" }));
assert(sitemap.includes(`<loc>${posted.job_posting.public_url}</loc>`));
assert.match(done(await api.GET("/robots.txt", { parseAs: "text" })), /^Allow: \/careers\/$/m);

// Create some drafts, and list all roles page by page.
for (const title of ["Data Engineer", "Product Designer", "Recruiter"]) {
  done(await api.POST("/api/v1/roles", { body: { title } }));
}
const titles: string[] = [];
for await (const { title } of roles()) titles.push(title);
assert.deepEqual(titles.slice(0, 4), ["Recruiter", "Product Designer", "Data Engineer", engineer.title]);
const drafts = done(await api.GET("/api/v1/roles", { params: { query: { status: "draft" } } }));
const recruiter = drafts.data[0];
assert(recruiter?.title === "Recruiter");

// Send invalid requests.
const contradiction = rejected(await api.POST("/api/v1/roles", { body: { title: " ", salary_min: 2, salary_max: 1 } }));
assert(contradiction.code === "validation_failed");
assert.deepEqual(contradiction.messages, ["title can't be blank", "salary_min must be at most salary_max"]);
const late = rejected(await api.POST("/api/v1/candidates/{id}/reject", { params: candidate }));
assert(late.code === "invalid_transition");
assert.match(reason(late), /^stage cannot go from hired to rejected/);
const nobody = rejected(await api.GET("/api/v1/candidates/{id}", { params: { path: { id: 1 } } }));
assert.equal(nobody.code, "not_found");
const stranger = rejected(await client("rc_live_nobody").GET("/api/v1/organization"));
assert.equal(stranger.code, "unauthorized");

// Update a draft, also with a stale version. Then run all transitions of a role.
const draft = { path: { id: recruiter.id } };
const shown = await api.GET("/api/v1/roles/{id}", { params: draft });
const version = { ...draft, header: { "If-Match": header(shown, "ETag") } };
const placed = done(
  await api.PATCH("/api/v1/roles/{id}", { params: version, body: { location: "Berlin", remote_policy: "hybrid" } }),
);
assert.equal(placed.remote_policy, "hybrid");
const lost = rejected(await api.PATCH("/api/v1/roles/{id}", { params: version, body: { location: null } }));
assert.equal(lost.code, "precondition_failed");
const anywhere = done(await api.PATCH("/api/v1/roles/{id}", { params: draft, body: { location: null } }));
assert.equal(anywhere.location, null);
done(await api.PATCH("/api/v1/roles/{id}", { params: draft }));
const written = done(
  await api.POST("/api/v1/job_postings", { body: { role_id: recruiter.id, job_posting: { requirements: "Patience." } } }),
);
const posting = { path: { id: written.id } };
const transitions = [
  await api.POST("/api/v1/roles/{id}/publish", { params: draft }),
  await api.POST("/api/v1/roles/{id}/pause", { params: draft }),
  await api.POST("/api/v1/roles/{id}/resume", { params: draft }),
];
assert.deepEqual(transitions.map((answer) => done(answer).status), ["open", "paused", "open"]);

// Update and publish the posting.
const reworded = done(
  await api.PATCH("/api/v1/job_postings/{id}", { params: posting, body: { requirements: null, title: "Talent scout" } }),
);
assert.deepEqual([reworded.requirements, reworded.slug], [null, written.slug]);
assert(done(await api.POST("/api/v1/job_postings/{id}/publish", { params: posting })).published);
const published = done(await api.GET("/api/v1/job_postings", { params: { query: { published: true, limit: 1 } } }));
assert.equal(published.data[0]?.id, written.id);
assert(!done(await api.POST("/api/v1/job_postings/{id}/unpublish", { params: posting })).published);
assert.equal(done(await api.GET("/api/v1/job_postings/{id}", { params: posting })).title, "Talent scout");

// Another candidate applies, once for each role.
const ada = done(await api.POST("/api/v1/candidates", { body: { name: "Ada Lovelace", email: "ada@example.com" } }));
const second = { path: { id: ada.id } };
const change = { phone: "+1 415 555 2671", tags: ["Rust", "remote"] };
const phoned = done(await api.PATCH("/api/v1/candidates/{id}", { params: second, body: change }));
assert.deepEqual([phoned.phone, phoned.tags], ["+14155552671", ["Rust", "remote"]]);
for (const query of [{ q: "lovel" }, { tag: "REMOTE" }]) {
  const found = done(await api.GET("/api/v1/candidates", { params: { query } }));
  assert.deepEqual(found.data.map(({ id }) => id), [ada.id]);
}
const referral = { role_id: recruiter.id, source: "Referral" };
const application = done(await api.POST("/api/v1/candidates/{id}/applications", { params: second, body: referral }));
assert.deepEqual([application.source, application.stage, application.status], ["Referral", "applied", "active"]);
const repeated = rejected(await api.POST("/api/v1/candidates/{id}/applications", { params: second, body: referral }));
assert(repeated.code === "duplicate");
assert.deepEqual(repeated.existing, { type: "application", id: application.id });

// Look at the application, and list it for its role and for its candidate.
const progress = { path: { id: application.id } };
const detail = done(await api.GET("/api/v1/applications/{id}", { params: progress }));
assert.deepEqual([detail.role_title, detail.name, detail.email], [recruiter.title, ada.name, ada.email]);
const ofRole = { query: { role_id: recruiter.id, stage: "applied" } } as const;
const applications = [
  await api.GET("/api/v1/applications", { params: ofRole }),
  await api.GET("/api/v1/applications", { params: { query: { candidate_id: ada.id } } }),
];
const { offered, ...listed } = detail;
assert.equal(offered, null);
for (const answer of applications) assert.deepEqual(done(answer).data, [listed]);
const applied = done(await api.GET("/api/v1/candidates", { params: ofRole }));
assert.deepEqual(
  applied.data.map(({ name, application }) => [name, application]),
  [[ada.name, { id: application.id, stage: "applied", status: "active" }]],
);

// Reject and hire her, and undo both. Closing the role closes the application.
const rejection = { reason: "Salary", role_id: recruiter.id };
const declined = done(await api.POST("/api/v1/candidates/{id}/reject", { params: second, body: rejection }));
assert.deepEqual([declined.stage, declined.applications[0]?.rejection_reason], ["rejected", "Salary"]);
assert.equal(done(await api.POST("/api/v1/candidates/{id}/unreject", { params: second })).stage, "applied");
assert.equal(done(await api.POST("/api/v1/candidates/{id}/hire", { params: second })).stage, "hired");
const undo = { role_id: recruiter.id };
const unhired = done(await api.POST("/api/v1/candidates/{id}/unhire", { params: second, body: undo }));
assert.deepEqual([unhired.stage, unhired.applications.map(({ id }) => id)], ["applied", [application.id]]);
assert.equal(done(await api.DELETE("/api/v1/roles/{id}", { params: draft })).status, "closed");
assert.equal(done(await api.GET("/api/v1/applications/{id}", { params: progress })).status, "closed");
const advance = { stage: "offer", role_id: recruiter.id } as const;
const closed = rejected(await api.POST("/api/v1/candidates/{id}/advance", { params: second, body: advance }));
assert(closed.code === "invalid_transition");
assert.equal(done(await api.POST("/api/v1/roles/{id}/reopen", { params: draft })).status, "draft");
assert.equal(done(await api.GET("/api/v1/applications/{id}", { params: progress })).status, "active");

// Compare the plans' limits.
const acme = done(await api.GET("/api/v1/organization"));
done(await api.GET("/api/v1/audit_log", { params: { query: { action: "candidate.exported" } } }));
done(await api.GET("/api/v1/events", { params: { query: { type: "role.created" } } }));
assert.deepEqual([acme.plan.name, acme.limits.requests_per_day], ["pro", null]);
const globex = client(GLOBEX);
const { limits } = done(await globex.GET("/api/v1/organization"));
assert(limits.requests_per_day !== null);
for (let requests = 1; requests < limits.requests_per_day; requests++) done(await globex.GET("/api/v1/organization"));
const spent = await globex.GET("/api/v1/organization");
assert.equal(rejected(spent).code, "rate_limited");
assert(Number(header(spent, "Retry-After")) > 0);

// Register an OAuth application. It gets no tokens before a member consents.
const server = done(await api.GET("/.well-known/oauth-authorization-server"));
const host = done(await api.GET("/.well-known/oauth-protected-resource"));
const version1 = done(await api.GET("/.well-known/oauth-protected-resource/api/v1"));
assert.deepEqual([host.resource, version1.resource], [baseUrl, `${baseUrl}/api/v1`]);
assert.deepEqual([host.authorization_servers, version1.authorization_servers], [[server.issuer], [server.issuer]]);
const assistants = done(await api.GET("/.well-known/oauth-protected-resource/mcp"));
assert.equal(assistants.resource, `${baseUrl}/mcp`);
const redirect_uri = "https://app.example/callback";
const { client_id, client_secret } = done(
  await api.POST("/oauth/registrations", { body: { client_name: "Assistant", redirect_uris: [redirect_uri] } }),
);
assert(client_secret !== undefined);
const form = {
  headers: {
    Authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}`,
    "Content-Type": "application/x-www-form-urlencoded",
  },
};
const code = { code: "guessed", redirect_uri, code_verifier: "guessed".repeat(7) };
const tokens = rejected(
  await api.POST("/oauth/token", { ...form, body: { grant_type: "authorization_code", ...code } }),
);
assert.equal(tokens.error, "invalid_grant");
done(await api.POST("/oauth/revoke", { ...form, body: { token: "guessed" } }));

// Manage a webhook endpoint.
const { secret, ...added } = done(
  await api.POST("/api/v1/webhook_endpoints", {
    body: { url: "https://hooks.example.com/rolecall", types: ["candidate.created"] },
  }),
);
const hook = { path: { id: added.id } };
assert.match(secret, /^whsec_/);
assert.deepEqual(done(await api.GET("/api/v1/webhook_endpoints/{id}", { params: hook })), added);
assert.deepEqual(done(await api.GET("/api/v1/webhook_endpoints")).data, [added]);
const all = done(await api.PATCH("/api/v1/webhook_endpoints/{id}", { params: hook, body: { types: [], hmac: false } }));
assert.deepEqual([all.types, all.hmac, all.status, all.disabled_reason], [[], false, "enabled", null]);
const rotated = done(await api.POST("/api/v1/webhook_endpoints/{id}/rotate_secret", { params: hook }));
assert.notEqual(rotated.secret, secret);
assert.deepEqual(rotated.public_keys.slice(1), added.public_keys);
const ping = done(await api.POST("/api/v1/webhook_endpoints/{id}/ping", { params: hook }));
const redelivery = { path: { id: added.id, delivery_id: ping.id } };
done(
  await api.POST("/api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver", { params: redelivery }),
);
done(await api.POST("/api/v1/webhook_endpoints/{id}/replay", { params: hook, body: { after: 0 } }));
const deliveries = done(await api.GET("/api/v1/webhook_endpoints/{id}/deliveries", { params: hook }));
assert.equal(deliveries.data.find(({ id }) => id === ping.id)?.event_id, ping.event_id);
assert.equal(done(await api.DELETE("/api/v1/webhook_endpoints/{id}", { params: hook })).id, added.id);

// Send a message of an assistant.
const pong = (await api.POST("/mcp", { body: { jsonrpc: "2.0", id: 1, method: "ping" } })).data;
assert(pong !== undefined && !Array.isArray(pong));
assert.deepEqual([pong.id, pong.result, pong.error], [1, {}, undefined]);

// Send a callback with a wrong signature.
const callback = rejected(
  await api.POST("/webhooks/voice/{provider}", {
    params: { path: { provider: "simulator" }, header: { "X-Timestamp": Date.now().toFixed() } },
    headers: { "X-Signature": "00" },
    body: { message: {} },
  }),
);
assert.equal(callback.code, "unauthorized");

const failed = [...used].filter(([, succeeded]) => !succeeded).map(([operation]) => operation);
assert.deepEqual(new Set(failed), new Set(Object.keys(REJECTED)));
console.log(`openapi-typescript, openapi-fetch: used ${used.size.toString()} operations; rejected as expected: ${failed.join(", ")}`);
