// Compares tests/providers.json with the types that X, WhatsApp and Vapi publish.
//
// Usage: node run.mjs TSC NODE_MODULES WORK_FOLDER
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { compare } from "./compare.mjs";

const [tsc, modules, folder] = process.argv.slice(2);
const here = import.meta.dirname;
const json = async (file) => JSON.parse(await readFile(file, "utf8"));
const record = await json(join(here, "../../tests/providers.json"));
const unchecked = await json(join(here, "unchecked.json"));

for (const name of Object.keys((await json(join(here, "package.json"))).dependencies)) {
  console.log(`${name} ${(await json(join(modules, name, "package.json"))).version}`);
}
const { differences, unnoticed } = await compare({ record, types: join(here, "types.ts"), modules, tsc, folder });
const isIn = (place, outer) => place === outer || place.startsWith(`${outer}.`) || place.startsWith(`${outer}[`);
const unlisted = unnoticed.filter((place) => !Object.keys(unchecked).some((outer) => isIn(place, outer)));
const outdated = Object.keys(unchecked).filter((place) => !unnoticed.includes(place));
// A difference hides what is around it from TypeScript, so the places count only without differences.
const places = [
  ...unlisted.map((place) => `${place}: its type allows any field`),
  ...outdated.map((place) => `${place}: is compared, or no longer recorded, and does not belong into unchecked.json`),
];
const problems = differences.length > 0 ? differences : places;
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(`${record.length} exchanges have only fields that the providers publish; ${unnoticed.length} places allow any`);
