// Compares a record of requests and answers with published types, with TypeScript's checks of object literals.
import { execFile } from "node:child_process";
import { copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/** A field that no type has. Its value is allowed wherever its name is. */
const UNKNOWN = "rolecall_unknown_field";
const ANYTHING = "a value of any type";

/** The parts of an exchange with their types. */
function parts({ provider, request, query, body, status, answer }) {
  const type = `Requests[${JSON.stringify(`${provider} ${request}`)}]`;
  const answered = status < 400 ? `${type}["answer"]` : `Errors[${JSON.stringify(provider)}]`;
  return [
    { name: "query", value: query, type: `${type}["query"]` },
    { name: "body", value: body, type: `${type}["body"]` },
    { name: status < 400 ? "answer" : "error", value: answer, type: answered },
  ].map((part) => ({ ...part, name: `${provider} ${request} ${part.name}` }));
}

/** The value with an unknown field, once for each object in it, with the place of the object. */
function* mutants(value, place) {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      for (const mutant of mutants(item, `${place}[]`)) {
        yield { ...mutant, value: value.with(at, mutant.value) };
      }
    }
  } else if (value !== null && typeof value === "object") {
    yield { place, value: { ...value, [UNKNOWN]: ANYTHING } };
    for (const [name, item] of Object.entries(value)) {
      for (const mutant of mutants(item, `${place}.${name}`)) {
        yield { ...mutant, value: { ...value, [name]: mutant.value } };
      }
    }
  }
}

/** The errors of TypeScript in the files of a folder: the file, the line and the message. */
async function check(tsc, folder, files) {
  const options = { module: "nodenext", target: "es2022", noEmit: true, strict: true, skipLibCheck: true, types: [] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files }));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  const output = await new Promise((done) => {
    execFile(tsc, ["--project", folder, "--pretty", "false"], { maxBuffer: 1e9 }, (error, stdout, stderr) =>
      done(error === null || stdout !== "" ? stdout : `${error}${stderr}`),
    );
  });
  // The lines that follow an error are indented.
  return output
    .split("\n")
    .filter((line) => /^\S/.test(line))
    .map((line) => {
      const found = /^(?:.*[/\\])?([^/\\]+)\((\d+),\d+\): error \w+: (.*)$/.exec(line);
      if (found === null) throw new Error(`tsc: ${output}`);
      return { file: found[1], line: Number(found[2]), message: found[3] };
    });
}

/**
 * Compares the exchanges in `record` with the types in the file `types`, which finds its packages in `modules`. Works in
 * `folder`. Returns the differences, and the places where an unknown field would not be noticed.
 */
export async function compare({ record, types, modules, tsc, folder }) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await copyFile(types, join(folder, "types.ts"));
  if (modules !== undefined) await symlink(resolve(modules), join(folder, "node_modules"));
  const all = record.flatMap(parts);
  const changed = all.flatMap((part) => [...mutants(part.value, part.name)].map((mutant) => ({ ...part, ...mutant })));
  const literal = (value) => JSON.stringify(value).replace(JSON.stringify(ANYTHING), "undefined as any");
  const source = (parts) =>
    ['import type { Errors, Requests } from "./types.js";']
      .concat(parts.map(({ type, value }, at) => `export const part${at}: ${type} = ${literal(value)};`))
      .join("\n");
  await writeFile(join(folder, "record.ts"), source(all));
  await writeFile(join(folder, "mutants.ts"), source(changed));
  const errors = await check(tsc, folder, ["types.ts", "record.ts", "mutants.ts"]);
  const differences = [];
  const noticed = new Set();
  for (const { file, line, message } of errors) {
    if (file === "record.ts") differences.push(`${all[line - 2]?.name}: ${message}`);
    else if (file !== "mutants.ts") differences.push(`${file}, line ${line}: ${message}`);
    else if (message.includes(UNKNOWN)) noticed.add(line - 2);
  }
  const unnoticed = changed.filter((_, at) => !noticed.has(at)).map(({ place }) => place);
  return { differences, unnoticed: [...new Set(unnoticed)].sort() };
}
