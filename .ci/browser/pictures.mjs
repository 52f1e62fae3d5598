// The pictures of the README: a board and a career page of the demo company.

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";

/** The options of a service with the demo company, whose data and so whose pictures depend on the time. */
export const SERVICE = ["--demo", "--now", "2026-09-15T10:00:00Z"];

const SIZE = { width: 1280, height: 1000 };
/** The folder with the pictures that the README shows. */
const SHOWN = "infra/pictures";
/** The maximum size of a picture in bytes. */
const MAX_BYTES = 150_000;

/** Takes the pictures. Each must exist in the README's folder, too, but may differ in fonts and the port. */
export async function take({ service, open, step, screenshots }) {
  const visitor = await open({ viewport: SIZE, colorScheme: "light" });
  const { page } = visitor;
  const picture = async (name) => {
    await page.screenshot({ path: `${screenshots}/${name}.png` });
    for (const folder of new Set([screenshots, SHOWN])) {
      const { size } = await stat(`${folder}/${name}.png`);
      assert.ok(size > 0 && size <= MAX_BYTES, `${folder}/${name}.png has ${size} bytes`);
    }
  };
  await visitor.signIn(service.acme.owner);
  await step("board", async () => {
    await visitor.go("/dashboard/roles?status=open");
    const counts = await page.locator("td[data-label=Applicants]").allInnerTexts();
    const most = counts.map(Number).reduce((best, count, index, all) => (count > all[best] ? index : best), 0);
    await page.getByRole("rowheader").nth(most).getByRole("link").click();
    await page.waitForURL(/roles\/\d+/);
    assert.ok((await page.locator("[data-card]").count()) > 4, "the board is nearly empty");
    await picture("board");
  });
  await step("careers", async () => {
    assert.equal(await visitor.go("/careers/acme"), 200);
    await picture("careers");
  });
}
