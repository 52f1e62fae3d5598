// The pictures of the README: a board and a career page of the demo company.

import assert from "node:assert/strict";
import { stat, writeFile } from "node:fs/promises";
import { crc32 } from "node:zlib";

/** The options of a service with the demo company, whose data and so whose pictures depend on the time. */
export const SERVICE = ["--demo", "--now", "2026-09-15T10:00:00Z"];

const SIZE = { width: 1280, height: 1000 };
/** The folder with the pictures that the README shows. */
const SHOWN = "infra/pictures";
/** The maximum size of a picture in bytes. */
const MAX_BYTES = 150_000;

/** The address of a service that is started without options. */
const ADDRESS = "http://127.0.0.1:3000";

/** Takes the pictures. Each must exist in the README's folder, too, but may differ in fonts. */
export async function take({ service, open, step, screenshots }) {
  const visitor = await open({ viewport: SIZE, colorScheme: "light" });
  const { page } = visitor;
  const picture = async (name, cards) => {
    const notes = await page.evaluate(show, [service.base, ADDRESS]);
    const clip = { x: 0, y: 0, ...SIZE, height: await page.locator(cards).evaluateAll(uncut, SIZE.height) };
    await writeFile(`${screenshots}/${name}.png`, withNotes(await page.screenshot({ clip }), notes));
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
    await picture("board", "[data-card]");
  });
  await step("careers", async () => {
    assert.equal(await visitor.go("/careers/acme"), 200);
    await picture("careers", "main li");
  });
}

/** Replaces the address of the service in the texts of a page. Returns what .ci/documents/claims.py compares: menu and addresses. */
function show([base, address]) {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    texts.currentNode.data = texts.currentNode.data.replaceAll(base, address);
  }
  const menu = [...document.querySelectorAll("#menu a")].map((link) => link.textContent);
  return { menu, addresses: document.body.innerText.match(/http:\S+/g) ?? [] };
}

/** Returns the greatest height, up to a maximum, at which no card is cut. */
function uncut(cards, maximum) {
  const boxes = cards.map((card) => card.getBoundingClientRect()).sort((a, b) => b.bottom - a.bottom);
  return boxes.reduce((height, { top, bottom }) => (top < height && bottom > height ? top : height), maximum);
}

/** Returns a PNG with notes about its page, in a text after the header. */
function withNotes(png, notes) {
  const text = Buffer.from(`tEXtpage\0${JSON.stringify(notes)}`, "latin1");
  const chunk = Buffer.alloc(text.length + 8);
  chunk.writeUInt32BE(text.length - 4);
  text.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(text), text.length + 4);
  // The signature and the header have 33 bytes.
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)]);
}
