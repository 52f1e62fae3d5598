// The comparison notices every field that a type does not have.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compare } from "./compare.mjs";

const folder = await mkdtemp(join(tmpdir(), "providers-"));
after(() => rm(folder, { recursive: true }));
const types = join(folder, "types.ts");
await writeFile(
  types,
  `type Cat = { kind: "cat"; lives?: number }; type Dog = { kind: "dog"; tricks?: { name: string }[] };
  export interface Requests {
    "zoo POST /animals": {
      query: { of?: string[] }; body: { animal: Cat | Dog; notes?: any };
      answer: { id?: string; links?: Record<string, { url?: string }> };
    };
  }
  export interface Errors { zoo: { code?: number } }`,
);

const exchange = {
  provider: "zoo",
  request: "POST /animals",
  query: {},
  body: { animal: { kind: "dog", tricks: [{ name: "sit" }] }, notes: { any: { thing: 1 } } },
  status: 201,
  answer: { id: "1", links: { self: { url: "/1" } } },
};

// TypeScript takes a second to start, so all cases are compared together.
const cases = [
  ["a field", { body: { ...exchange.body, colour: "red" } }, /^zoo POST \/animals body: .*"colour"/],
  ["a nested field", { body: { animal: { kind: "cat", tail: 1 } } }, /body: .*"tail"/],
  ["a field of another variant", { body: { animal: { kind: "cat", tricks: [] } } }, /body: .*"tricks"/],
  ["a field in a list", { body: { animal: { kind: "dog", tricks: [{ name: "", hard: true }] } } }, /body: .*"hard"/],
  ["a value", { body: { animal: { kind: "cow" } } }, /body: .*"cow"/],
  ["a missing field", { body: {} }, /body: .*'animal'/],
  ["a parameter", { query: { page: ["1"] } }, /query: .*"page"/],
  ["a field of an answer", { answer: { ids: "1" } }, /answer: .*"ids"/],
  ["a field in a map", { answer: { links: { self: { uri: "/1" } } } }, /answer: .*"uri"/],
  ["a field of an error", { status: 400, answer: { codes: 7 } }, /error: .*"codes"/],
  ["the query of a request", { request: "PUT /animals" }, /query: .*'zoo PUT \/animals'/],
  ["the body of a request", undefined, /body: .*'zoo PUT \/animals'/],
  ["the answer to a request", undefined, /answer: .*'zoo PUT \/animals'/],
];
const refused = { ...exchange, status: 400, answer: { code: 7 } };
const changed = cases.filter(([, change]) => change !== undefined).map(([, change]) => ({ ...exchange, ...change }));
const compared = (record) => compare({ record, types, tsc: process.env.TSC, folder: join(folder, "work") });
const correct = await compared([exchange, refused]);
const { differences } = await compared(changed);

test("what the types have is no difference, and places that allow any field are listed", () => {
  assert.deepEqual(correct, {
    differences: [],
    unnoticed: [
      "zoo POST /animals answer.links",
      "zoo POST /animals body.notes",
      "zoo POST /animals body.notes.any",
    ],
  });
});

test("each case is one difference", () => {
  assert.equal(differences.length, cases.length, differences.join("\n"));
});

for (const [at, [name, , difference]] of cases.entries()) {
  test(`${name} that the types do not have is a difference`, () => assert.match(differences[at], difference));
}
