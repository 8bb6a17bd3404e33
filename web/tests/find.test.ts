// Finding a text in a session, and addresses that lead to an entry, in Chromium.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const length = 1_000;

/** Finds as the service does, a part of the log with each call. */
function search({ query, after = 0 }: Record<string, unknown>) {
  const from = Number(after);
  const to = Math.min(length, from + 500);
  const seqs = Array.from({ length: to - from }, (_, at) => from + at + 1);
  const matches = seqs
    .filter((seq) => {
      const { title, content } = generatedEntry(seq).update as {
        title?: string;
        content?: unknown;
      };
      return `${title} ${JSON.stringify(content)}`
        .toLowerCase()
        .includes(String(query).toLowerCase());
    })
    .map((seq) => ({ seq, at: "", turnId: null, type: "", text: "" }));
  return { matches, nextAfter: to < length ? to : null };
}

async function opened(path: string): Promise<FakedService> {
  const faked = await openFaked({ entryAt: generatedEntry, length });
  faked.answers["search_session_events"] = search;
  await faked.open(path);
  await faked.page.locator(".log-row").first().waitFor();
  return faked;
}

/** Waits until the box is in sight around a row with this text. */
const boxed = ({ page }: FakedService, wanted: string) =>
  page.waitForFunction((text) => {
    const box = document.querySelector<HTMLElement>(".found-box");
    const log = document.querySelector(".log")!.getBoundingClientRect();
    if (!box || box.hidden) return false;
    const { top, bottom, left, width } = box.getBoundingClientRect();
    if (top < log.top || bottom > log.bottom || width === 0) return false;
    const under = document.elementsFromPoint(left + 2, (top + bottom) / 2);
    return under.find(({ textContent }) => textContent !== "")?.textContent.includes(text);
  }, wanted);
const place = ({ page }: FakedService, text: string) =>
  page.getByRole("search").getByText(text, { exact: true }).waitFor();
const marked = ({ page }: FakedService) =>
  page.evaluate(() =>
    [...(CSS.highlights.get("found") ?? [])].map((range) => (range as Range).toString()),
  );

test("4.2.4 Search: ⌘F finds in the whole log, Enter and Shift+Enter go on, and Esc leads back", async () => {
  await using faked = await opened("/sessions/ses_1");
  const { page } = faked;
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -600);
  await page.waitForTimeout(300);
  const scrolled = () =>
    page.evaluate(
      () =>
        document.querySelector(".log")!.scrollHeight - document.querySelector(".log")!.scrollTop,
    );
  const before = await scrolled();
  await page.keyboard.press("Control+f");
  await page.getByLabel("Find in this session").fill("PROMPT 2");
  // Prompts 2 and 20 to 25; the newest of them is the first from where the person reads.
  await place(faked, "7 of 7");
  await boxed(faked, "Prompt 25");
  await page.waitForURL((url) => url.searchParams.get("find") === "PROMPT 2");
  await page.keyboard.press("Enter");
  await place(faked, "1 of 7");
  await boxed(faked, "Prompt 2:");
  assert.ok((await marked(faked)).every((text) => text === "Prompt 2"));
  assert.ok((await marked(faked)).length > 0);
  await page.keyboard.press("Shift+Enter");
  await place(faked, "7 of 7");
  await boxed(faked, "Prompt 25");
  await page.keyboard.press("Escape");
  await page.getByRole("search").waitFor({ state: "detached" });
  await page.waitForFunction((expected) => {
    const log = document.querySelector(".log")!;
    return Math.abs(log.scrollHeight - log.scrollTop - expected) < 3;
  }, before);
  assert.equal(new URL(page.url()).search, "");
  assert.deepEqual(await marked(faked), []);
  assert.deepEqual(faked.errors, []);
});

test("4.2.4 Search: only the fold of the match opens, and it closes again", async () => {
  await using faked = await opened("/sessions/ses_1?find=line+of+811");
  const { page } = faked;
  await place(faked, "1 of 1");
  await boxed(faked, "line of 811");
  const open = page.locator(".log [aria-expanded=true]");
  const closed = page.locator(".log .fold-line[aria-expanded=false]");
  assert.ok((await open.count()) <= 2, "the fold and the call");
  assert.ok((await closed.count()) > 0);
  await page.getByLabel("Find in this session").fill("no such text anywhere");
  await page.getByRole("search").getByText("Not found").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector(".log [aria-expanded=true]"));
});

test("4.2.4 Search: a second ⌘F is the browser's own", async () => {
  await using faked = await opened("/sessions/ses_1");
  const { page } = faked;
  await page.evaluate(() => {
    const kept: boolean[] = [];
    Object.assign(window, { kept });
    window.addEventListener("keydown", (event) => kept.push(event.defaultPrevented));
  });
  const press = async () => {
    await page.keyboard.press("Control+f");
    return page.evaluate(() => (window as unknown as { kept: boolean[] }).kept.at(-1));
  };
  assert.equal(await press(), true);
  await page.waitForFunction(() => document.activeElement?.closest(".find-bar"));
  assert.equal(await press(), false);
});

test("4.1 Transcript: an address leads to its entry once, and is then the session's", async () => {
  await using faked = await opened("/sessions/ses_1?entry=42");
  const { page } = faked;
  await page.getByText("Prompt 2: find the next cause").waitFor();
  await page.waitForFunction(() => {
    const log = document.querySelector(".log")!.getBoundingClientRect();
    const row = document.querySelector("#p2")?.getBoundingClientRect();
    return row && row.top >= log.top && row.bottom <= log.bottom;
  });
  await page.waitForURL((url) => url.search === "");
  await page.locator("#p2").getByRole("button", { name: "Prompt actions" }).click();
  await page.getByRole("menuitem", { name: "Copy link" }).waitFor();
});
