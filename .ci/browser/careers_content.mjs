// Sample openings: ordinary ones, and one with the longest text that the API accepts.

import { LONG } from "./content.mjs";

const DESCRIPTION = `We build the tools that **hospitals** rely on when minutes count. You will join a team of six who own \
what they build, from the first sketch to the night when it pages.

## What you will do

- Design and build services that stay up, and say so when they do not
- Sit with nurses and dispatchers for a day every month
- Review, teach and learn; nobody here works alone for long

## How we work

We write things down. We ship every day. We meet in Lisbon *twice a year*.

| When | What |
|---|---|
| First week | Your first change is in use |
| First month | You know a ward from the inside |
| First year | You lead a project |

> The best engineering culture I have ever seen.

More at [our handbook](https://example.com/handbook), or run \`make help\`.`;
const REQUIREMENTS = `1. Five years of building software that others rely on
2. Rust, or the desire to learn it
3. English good enough to disagree politely`;

const TITLES = [
  "Senior Rust Engineer",
  "Product Designer",
  "Nurse Liaison",
  "Site Reliability Engineer",
  "Account Executive",
  "Data Analyst",
  "Office Manager",
  "Technical Writer",
  "Émigré Support Specialist",
  "Chief of Staff",
];
const DEPARTMENTS = [
  "Engineering",
  "Design",
  "Care",
  "Engineering",
  "Sales",
  "Data",
  "Operations",
  "Engineering",
  null,
];
const LOCATIONS = [
  "Lisbon, Portugal",
  "Austin, Texas",
  "Remote",
  "Berlin, Germany",
  null,
  "São Paulo, Brazil",
  "Łódź, Poland",
];
const POLICIES = ["hybrid", "onsite", "remote", "hybrid", "remote", null, "onsite"];
const COUNTRIES = ["PT", "US", null, "DE", null, "BR", "PL"];
const EMPLOYMENT_TYPES = ["full_time", null, "contract", "part_time", "internship", "temporary"];
const CURRENCIES = ["EUR", null, "CHF", "GBP"];
const SALARIES = [
  [150_000, 190_000],
  [null, 120_000],
  [65_000, null],
  [null, null],
  [90_000, 90_000],
];

/** Publishes `count` varied openings. Returns their job postings, oldest first. */
export async function publish(service, key, count) {
  const postings = [];
  for (let number = count - 1; number >= 0; number -= 1) {
    const turn = (list) => list[number % list.length];
    const [salary_min, salary_max] = turn(SALARIES);
    postings.push(
      await post(
        service,
        key,
        {
          title: turn(TITLES),
          department: turn(DEPARTMENTS),
          location: turn(LOCATIONS),
          country: turn(COUNTRIES),
          remote_policy: turn(POLICIES),
          employment_type: turn(EMPLOYMENT_TYPES),
          salary_currency: turn(CURRENCIES),
          salary_min,
          salary_max,
          description: DESCRIPTION,
        },
        { requirements: turn([REQUIREMENTS, null]) },
      ),
    );
  }
  return postings;
}

/** Publishes an opening with the longest text that the API accepts. Returns its job posting. */
export async function publishLong(service, key) {
  const { title, department, location } = LONG;
  const word = "Donaudampfschiffahrtsgesellschaftskapitänsmützenabzeichen";
  const table = `|${`${word}|`.repeat(6)}\n|${"-|".repeat(6)}\n|${"cell|".repeat(6)}`;
  const described = `${word.repeat(4)}\n\n${table}\n\n\`\`\`\n${"code ".repeat(60)}\n\`\`\`\n\n- ${"item ".repeat(60)}\n\n`;
  return post(
    service,
    key,
    {
      title,
      department: department.slice(0, 100),
      location: location.slice(0, 200),
      remote_policy: "hybrid",
      salary_min: 0,
      salary_max: 100_000_000,
      description: described + "Long words. ".repeat(1_500).slice(0, 19_999 - described.length),
    },
    { requirements: `# ${title}\n\n${"- One more thing\n".repeat(40)}` },
  );
}

/** Publishes an opening. Returns its job posting. */
export async function post(service, key, role, job_posting = {}) {
  return (await service.create(key, "/api/v1/quick_post", { role, job_posting })).job_posting;
}

/** A small PDF. */
export const RESUME = {
  name: "resume.pdf",
  mimeType: "application/pdf",
  buffer: Buffer.from(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 42>>stream
BT /F 18 Tf 40 100 Td (A resume) Tj ET    
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R/Size 6>>
%%EOF
`),
};
/** An HTML file with the name of a PDF. */
export const LARGE_RESUME = { ...RESUME, buffer: Buffer.alloc(4_400_000, " ") };

export const NO_RESUME = { ...RESUME, buffer: Buffer.from("<!doctype html><script>alert(1)</script>") };

/** Waits until a form is not sent sooner after its page than a person can be. */
export function asLongAsAPerson(page) {
  return page.waitForTimeout(2_100);
}
