// Webhook endpoints: add, test, send again, edit, replace the secret, the notice for owners, and delete.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";

import { looking } from "./looks.mjs";

const PATH = "/dashboard/webhooks";
/** The type of the events that test an endpoint. */
const TEST = "webhook_endpoint.pinged";
const HOSTILE = '<script>alert("answer")</script><img src=x onerror=alert(1)>';

export async function visit(world) {
  const { service, step } = world;
  const receiver = await receive();
  const visitor = await world.open();
  const { page } = visitor;
  const { look } = looking(world, visitor);
  await visitor.signIn(service.acme.owner, PATH);

  await look("webhooks-problems", async () => {
    await page.getByLabel("URL", { exact: true }).fill("https://10.0.0.1/");
    await page.getByLabel("Description").fill("Data warehouse");
    await page.getByText("Choose events", { exact: true }).click();
    await page.getByRole("checkbox", { name: "role.published" }).check();
    assert.equal(await visitor.press("Add endpoint"), 422);
    assert.match(await page.getByRole("alert").innerText(), /not an IP address/);
    assert.equal(await page.getByLabel("Description").inputValue(), "Data warehouse");
    assert.ok(await page.locator("[value='role.published']").isChecked());
  });

  let secret;
  await look("webhooks-added", async () => {
    await page.getByLabel("URL", { exact: true }).fill(receiver.url);
    await page.locator("[value='role.published']").evaluate((box) => (box.checked = false));
    assert.equal(await visitor.press("Add endpoint"), 200);
    secret = await page.getByLabel("Secret", { exact: true }).inputValue();
    assert.match(secret, /^whsec_/);
  });

  let endpoint;
  /** The newest test. The endpoint also gets the events about itself. */
  const row = page.getByRole("row").filter({ hasText: TEST }).first();
  await step("the endpoint gets a signed test, and its answer is shown as text", async () => {
    await page.getByRole("link", { name: "Open the endpoint" }).click();
    await page.waitForURL(/webhooks\/\d+$/);
    endpoint = visitor.path();
    assert.ok(!(await page.content()).includes(secret));
    receiver.answer = { status: 500, body: HOSTILE };
    assert.equal(await visitor.press("Send a test"), 303);
    assert.match(await page.getByRole("status").innerText(), /sent within a minute/);
    const request = await receiver.next();
    const content = `${request.headers["webhook-id"]}.${request.headers["webhook-timestamp"]}.${request.body}`;
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const expected = `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
    assert.ok(request.headers["webhook-signature"].split(" ").includes(expected));
    await until(visitor, endpoint, row, /failed/i);
    await row.locator("summary").click();
    assert.equal(await row.locator("pre").innerText(), HOSTILE);
    assert.match(await row.innerText(), /status 500/);
  });
  await look("webhook-endpoint", () => visitor.go(endpoint));

  await step("the delivery is sent again", async () => {
    receiver.answer = { status: 200, body: "thank you" };
    await visitor.sends(() => row.getByRole("button", { name: /^Send again/ }).click());
    await receiver.next();
    await until(visitor, endpoint, row, /delivered/i);
    assert.match(await row.innerText(), /2 attempts/);
  });

  await step("a replay needs a number that the feed has", async () => {
    await page.getByLabel("After event number").fill("1000000");
    assert.equal(await visitor.press("Replay"), 422);
    await page.getByRole("alert").getByRole("link").click();
    const field = page.getByLabel("After event number");
    assert.ok(await field.evaluate((field) => field === document.activeElement));
  });

  await step("the endpoint is edited", async () => {
    await visitor.go(endpoint);
    await page.getByLabel("Description").fill("Payroll");
    await page.getByText("Choose events", { exact: true }).click();
    await page.getByRole("checkbox", { name: "candidate.created" }).check();
    assert.equal(await visitor.press("Save"), 303);
    const shown = await page.getByRole("main").innerText();
    assert.match(shown, /Webhook endpoint saved/);
    assert.match(shown, /Payroll/);
    assert.match(shown, /candidate\.created/);
  });

  await look("webhook-rotated", async () => {
    await visitor.go(endpoint);
    assert.equal(await visitor.pressWithin("Replace the secret", "Replace the secret now"), 200);
    const renewed = await page.getByLabel("Secret", { exact: true }).inputValue();
    assert.match(renewed, /^whsec_/);
    assert.notEqual(renewed, secret);
  });

  await look("overview-endpoint-disabled", async () => {
    receiver.answer = { status: 410, body: "" };
    await visitor.go(endpoint);
    await visitor.press("Send a test");
    await receiver.next();
    await until(visitor, "/dashboard", page.getByRole("main"), /A webhook endpoint is disabled/);
  });

  await look("webhook-endpoint-disabled", async () => {
    await visitor.go("/dashboard");
    await page.getByRole("main").getByRole("link", { name: receiver.url }).click();
    await page.waitForURL(/webhooks\/\d+$/);
    assert.match(await page.getByRole("main").innerText(), /It answered that it is gone/);
  });

  await step("the notice goes away when the endpoint is enabled", async () => {
    assert.equal(await visitor.press("Enable"), 303);
    await visitor.go("/dashboard");
    assert.doesNotMatch(await page.getByRole("main").innerText(), /webhook endpoint/);
  });

  await step("the endpoint is deleted", async () => {
    await visitor.go(endpoint);
    assert.equal(await visitor.pressWithin("Delete", "Delete the endpoint now"), 303);
    assert.equal(visitor.path(), `${PATH}?done=webhook-deleted`);
    assert.match(await page.getByRole("main").innerText(), /No webhook endpoints yet/);
    assert.equal(await visitor.go(endpoint), 404);
  });
}

/** Opens a page until a part of it matches. */
async function until(visitor, path, part, pattern) {
  const end = Date.now() + 300_000;
  for (;;) {
    await visitor.go(path);
    if (pattern.test(await part.innerText())) {
      return;
    }
    assert.ok(Date.now() < end, `${path} never matches ${pattern}`);
    await visitor.page.waitForTimeout(300);
  }
}

/** Starts a receiver of webhooks on this machine. */
async function receive() {
  const tests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) {
      body += part;
    }
    response.writeHead(receiver.answer.status).end(receiver.answer.body);
    if (JSON.parse(body).type === TEST) {
      tests.push({ headers: request.headers, body });
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // It does not keep the process alive, so nothing has to close it.
  server.unref();
  const receiver = {
    url: `http://127.0.0.1:${server.address().port}/hook`,
    answer: { status: 200, body: "" },
    /** Returns the next test. */
    async next() {
      const end = Date.now() + 300_000;
      while (!tests.length) {
        assert.ok(Date.now() < end, "no test arrives");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return tests.shift();
    },
  };
  return receiver;
}
