// Other sites: pages of another origin cannot change anything for a signed-in member.

import assert from "node:assert/strict";

import { Application } from "./connected_apps.mjs";
import { listen } from "./listener.mjs";

const KEYS = "/dashboard/settings/integrations/api-keys";
const MEMBERS = "/dashboard/settings/members";
const ACCOUNT = "/dashboard/settings/account";
const APPS = "/dashboard/settings/integrations/connected-apps";

export async function visit({ service, open, step }) {
  const site = await listen();
  const victim = await open();
  victim.elsewhere.add(site.origin()).add(site.origin("localhost"));
  const { owner } = service.acme;
  await victim.signIn(owner);

  await step("no page loads in a frame", async () => {
    const frames = ["/dashboard", "/dashboard/sign-in", KEYS].map((path) => service.base + path);
    const sources = [...frames, `${site.origin()}/plain`];
    site.pages.set("/frames", sources.map((source) => `<iframe src="${source}"></iframe>`).join(""));
    for (const host of ["127.0.0.1", "localhost"]) {
      await victim.go(`${site.origin(host)}/frames`);
      const [, ...shown] = victim.page.frames().map((frame) => frame.url());
      assert.deepEqual(shown.filter((address) => address.startsWith("http:")), [sources.at(-1)]);
    }
    const [blocked, others] = partition(victim.complaints, (complaint) => complaint.includes("frame-ancestors"));
    assert.ok(blocked.length >= frames.length, `the console does not name the policy: ${others}`);
    victim.complaints = others;
  });

  const attacker = await open();
  await attacker.signIn(service.globex.owner);
  const token = await attacker.formToken();
  const application = await Application.register(service, "Trap", `${site.origin()}/trap`);
  const address = new URL(application.authorizeUrl(`${site.origin()}/trap`, "roles:read"));
  const query = Object.fromEntries(address.searchParams);
  await victim.go(KEYS);
  const key = await victim.page.locator("main form[action$=revoke]").first().getAttribute("action");
  const before = await state(victim);
  const forms = {
    "/dashboard/sign-in": service.globex.owner,
    "/dashboard/sign-out": {},
    "/dashboard/sign-out-everywhere": {},
    "/dashboard/mode": { mode: "test" },
    [KEYS]: { name: "Trap", scope: "roles:read" },
    [key]: {},
    [MEMBERS]: { name: "Eve", email: "eve@evil.example", role: "owner" },
    [`${ACCOUNT}/password`]: {
      current: owner.password,
      password: "the attacker's password",
      repeated: "the attacker's password",
    },
    "/oauth/authorize": { ...query, mode: "live", decision: "allow" },
  };

  for (const [host, kind] of [
    ["127.0.0.1", "another port, with the cookie,"],
    ["localhost", "another site"],
  ]) {
    await step(`forms from ${kind} are rejected and change nothing`, async () => {
      for (const [path, fields] of Object.entries(forms)) {
        for (const csrf of [{}, { csrf: token }]) {
          site.pages.set("/trap", form(service.base + path, { ...fields, ...csrf }));
          await victim.go(`${site.origin(host)}/trap`);
          assert.equal(await victim.press("Win a prize"), 403, path);
        }
      }
      assert.deepEqual(await state(victim), before);
      assert.ok(!site.visits.some(({ searchParams }) => searchParams.has("code")), "no application was allowed");
    });
  }

  await step("a multipart or plain-text body is not accepted as a form", async () => {
    for (const encoding of ["multipart/form-data", "text/plain"]) {
      site.pages.set("/trap", form(`${service.base}/dashboard/mode`, { mode: "test" }, encoding));
      await victim.go(`${site.origin()}/trap`);
      assert.equal(await victim.press("Win a prize"), 415);
    }
    assert.deepEqual(await state(victim), before);
  });
}

function partition(list, test) {
  return [list.filter(test), list.filter((item) => !test(item))];
}

function form(action, fields, encoding = "application/x-www-form-urlencoded") {
  const inputs = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
  const content = `${inputs.join("")}<button>Win a prize</button>`;
  return `<form method="post" action="${action}" enctype="${encoding}">${content}</form>`;
}

/** Returns the state that an attacker would like to change. */
async function state(victim) {
  const shown = {};
  for (const path of [ACCOUNT, KEYS, MEMBERS, APPS]) {
    await victim.go(path);
    assert.equal(victim.path(), path, "still signed in");
    shown[path] = await victim.page.locator("body").ariaSnapshot();
  }
  return shown;
}
