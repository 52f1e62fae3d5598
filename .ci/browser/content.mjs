// Demo content of an organization in use, including the longest and oddest text that the API accepts.

/** Strings of the maximum length, or at least very long ones. */
export const LONG = {
  title: "W".repeat(200),
  department: "Donaudampfschiffahrtsgesellschaft".repeat(3),
  location: "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch".repeat(3),
  name: "Wolfeschlegelsteinhausenbergerdorff".repeat(5),
  email: `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(57)}.com`,
  phone: "+493012345678901",
  resume_url: `https://example.com/${"resume".repeat(300)}.pdf`,
};
const ODD = '<script>alert("odd")</script> & Söhne, 採用担当 مهندس 🦀';
const STAGES = ["screening", "interview", "offer"];
const TIMEOUT = 300_000;

/** Fills an organization through the API. Returns the identifiers of the resources to look at. */
export async function fill(service, key) {
  const create = (path, body) => service.create(key, `/api/v1/${path}`, body);
  const quickPost = async (role) => (await create("quick_post", { role })).role.id;
  const longRole = await quickPost({
    title: LONG.title,
    department: LONG.department,
    location: LONG.location,
    remote_policy: "hybrid",
    salary_min: 0,
    salary_max: 100_000_000,
  });
  const role = await quickPost({ title: "Engineer", department: "Platform", location: "Lisbon", salary_min: 70_000 });
  await quickPost({ title: ODD, remote_policy: "remote" });
  const { id: paused } = await create("roles", { title: "Recruiter" });
  await create(`roles/${paused}/publish`);
  await create(`roles/${paused}/pause`);
  await create("job_postings", { role_id: paused });
  const { id: closed } = await create("roles", { title: "Office manager" });
  await service.call(key, "DELETE", `/api/v1/roles/${closed}`);
  for (let count = 1; count <= 24; count += 1) {
    await create("roles", { title: `Draft ${count}` });
  }

  const apply = async (role_id, person) => (await create("candidates", { role_id, ...person })).id;
  for (let count = 1; count <= 12; count += 1) {
    await apply(role, { name: `Applicant ${count}`, email: `applicant.${count}@example.com` });
  }
  const staged = [];
  for (const stage of STAGES) {
    const id = await apply(role, { name: `Candidate in ${stage}`, email: `${stage}@example.com` });
    await create(`candidates/${id}/advance`, { stage });
    staged.push(id);
  }
  const hired = await apply(role, { name: "Grace Hopper", email: "grace@example.com" });
  await create(`candidates/${hired}/invite_screen`, { role_id: role });
  const rejected = await apply(role, { name: ODD, email: "odd@example.com" });
  const { name, email, phone, resume_url } = LONG;
  const candidate = await apply(longRole, { name, email, phone, resume_url });
  await create(`candidates/${candidate}/applications`, { role_id: role });
  for (const role_id of [longRole, role]) {
    await create(`candidates/${candidate}/invite_screen`, { role_id });
  }
  for (const id of staged) {
    await create(`candidates/${id}/invite_screen`, { role_id: role });
  }
  await finished(service, key, 3 + staged.length);
  await create(`candidates/${hired}/hire`, { start_date: "2030-01-07" });
  await create(`candidates/${rejected}/reject`, { reason: LONG.title, notes: LONG.location });
  return { longRole, role, candidate, hired, rejected };
}

/** Waits until the simulator has completed this many voice screens. */
async function finished(service, key, count) {
  const deadline = Date.now() + TIMEOUT;
  for (;;) {
    const { body } = await service.call(key, "GET", "/api/v1/voice_screens?status=completed&limit=100");
    if (body.data.length >= count) {
      return;
    }
    if (Date.now() > deadline) {
      throw new Error(`${body.data.length} of ${count} voice screens are completed after ${TIMEOUT} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
