// A receiver of webhooks, as the API guide describes it: it verifies each request with the secret and the public keys.
//
// Usage: receiver.js ADDRESS CERTIFICATE KEY
//
// Listens at port 443. Each line of the standard input is JSON with the secret and the public keys from then on. Prints
// the requests as JSON with both verdicts.

import { createPublicKey, verify } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

function receive(secret, headers, body) {
  try {
    new Webhook(secret).verify(body, headers);
  } catch {
    return false;
  }
  return true;
}

function isGenuine(publicKeys, headers, body) {
  const signed = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
  const isFresh = Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"])) < 300;
  const prefix = Buffer.from("302a300506032b6570032100", "hex");
  const keys = publicKeys.map((key) => Buffer.concat([prefix, Buffer.from(key.slice(5), "base64")]));
  const entries = headers["webhook-signature"].split(" ").filter((entry) => entry.startsWith("v1a,"));
  const signatures = entries.map((entry) => Buffer.from(entry.slice(4), "base64"));
  const isValid = (key, signature) =>
    verify(null, signed, createPublicKey({ key, format: "der", type: "spki" }), signature);
  return isFresh && keys.some((key) => signatures.some((signature) => isValid(key, signature)));
}

const [address, certificate, key] = process.argv.slice(2);
let trusted;
const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, async (request, response) => {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith("webhook-")));
  const body = await text(request);
  const verdicts = [receive(trusted.secret, headers, body), isGenuine(trusted.public_keys, headers, body)];
  console.log(JSON.stringify({ headers, body, verdicts }));
  response.writeHead(verdicts.every(Boolean) ? 204 : 401).end();
});
server.listen(443, address);
await once(server, "listening");
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  trusted = JSON.parse(line);
  console.log("ready");
}
process.exit();
