// A receiver of webhooks, as the API guide describes it: it verifies a request with the secret and with the public keys.
//
// It reads one request at a time from the standard input, as a line of JSON, and prints the verdict of each way.

import { createPublicKey, verify } from "node:crypto";
import { createInterface } from "node:readline";
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

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, public_keys, headers, body } = JSON.parse(line);
  console.log(JSON.stringify([receive(secret, headers, body), isGenuine(public_keys, headers, body)]));
}
