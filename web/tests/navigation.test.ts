// The list of sessions, the palette and the keys in Chromium.
import assert from "node:assert/strict";
import { test } from "node:test";
import { listing, openFaked, session, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";
import { idle, manySessions, running } from "./many-sessions.ts";

const length = 400;

async function opened(path = "/sessions/ses_1", width = 1440): Promise<FakedService> {
  const faked = await openFaked({ entryAt: generatedEntry, length, width });
  faked.answers["search_sessions"] = listing(manySessions);
  faked.answers["list_members"] = () => ({
    members: [{ userId: "usr_1", name: "Mira Okafor", email: "mira@people.example" }],
    nextCursor: null,
  });
  await faked.open(path);
  await faked.page
    .locator(width < 720 ? ".main" : ".list .item")
    .first()
    .waitFor();
  return faked;
}

const sidebar = ({ page }: FakedService) => page.getByRole("region", { name: "Sessions" });
const titles = (faked: FakedService, group: string) =>
  sidebar(faked).getByRole("group", { name: group }).locator(".t").allInnerTexts();
const pathOf = ({ page }: FakedService) => {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
};
const at = (faked: FakedService, path: string) =>
  faked.page.waitForURL((url) => url.pathname + url.search === path);

test("3.2 Session groups: counts, marks, lines, and what is over stays closed until it is opened", async () => {
  await using faked = await opened();
  const { page, calls } = faked;
  const list = sidebar(faked);
  assert.deepEqual(await list.getByRole("heading").allInnerTexts(), [
    "Needs an answer 2",
    "Running 2",
    "Idle 3",
    "Ended 41",
  ]);
  assert.deepEqual(await titles(faked, "Needs an answer"), [
    "Daily dependency update",
    "Move invoices to the new tax table",
  ]);
  assert.deepEqual(
    await list.locator(".sub").allInnerTexts(),
    [
      "Run npm test in ses_ask52",
      "Run npm test in ses_ask4",
      "builder-fra-2 · claude_code",
      "builder-fra-2 offline, was running",
    ],
    "two lines for those that wait and those at work, one for the rest",
  );
  assert.deepEqual(
    await list
      .getByRole("img")
      .evaluateAll((marks) => marks.map((mark) => mark.getAttribute("aria-label"))),
    [
      "needs an answer",
      "needs an answer",
      "Running",
      "host offline",
      "finished, not seen yet",
      "error",
      "open",
    ],
  );
  assert.equal(await list.locator("time").first().innerText(), "52m");
  assert.equal(
    await list
      .locator("[aria-current]")
      .innerText()
      .then((text) => text.split("\n")[0]),
    "Stop double payouts on replayed webhooks",
  );
  const readEnded = () =>
    calls.filter(({ action, input }) => action === "search_sessions" && input["group"] === "ended");
  assert.equal(readEnded().length, 0);
  await list.getByRole("button", { name: "Ended 41" }).click();
  await list.getByText("Over 40").waitFor();
  assert.equal(readEnded().length, 1);
  await page.reload();
  await sidebar(faked).getByText("Over 40").waitFor();
  assert.deepEqual(faked.errors, []);
});

test("3.2 Session groups: nothing moves under the pointer, and everything is in its place afterwards", async () => {
  await using faked = await opened();
  const { page, answers } = faked;
  const before = await titles(faked, "Running");
  await sidebar(faked).getByText("Flaky test hunt").hover();
  answers["search_sessions"] = listing([
    idle("ses_run9", "Port settlement report to streaming", 0),
    running("ses_newer", "Newer than all", 0),
    running("ses_off", "Flaky test hunt", 14),
  ]);
  faked.changed();
  await sidebar(faked).getByRole("heading", { name: "Idle 1" }).waitFor();
  assert.deepEqual(await titles(faked, "Running"), before);
  await page.mouse.move(900, 400);
  await sidebar(faked).getByText("Newer than all").waitFor();
  assert.deepEqual(await titles(faked, "Running"), ["Newer than all", "Flaky test hunt"]);
});

test("3.2 Session groups: 300 idle sessions draw 50 lines at first", async () => {
  await using faked = await opened();
  faked.answers["search_sessions"] = listing(
    Array.from({ length: 300 }, (_, n) => idle(`ses_${n}`, `Idle ${n}`, n)),
  );
  faked.changed();
  const rows = sidebar(faked).locator(".item.quiet");
  await sidebar(faked).getByText("Idle 300").waitFor();
  assert.equal(await rows.count(), 51, "and the link to all");
  await sidebar(faked).getByRole("button", { name: "Show more" }).click();
  await sidebar(faked).getByText("Idle 99", { exact: true }).waitFor();
  assert.equal(await rows.count(), 101);
});

test("4.1 Composer: a session with a draft says so in the sidebar, also after a reload", async () => {
  await using faked = await opened();
  const { page } = faked;
  const row = sidebar(faked).locator(".item", { hasText: "Stop double payouts" });
  assert.equal(await row.getByText("Draft").count(), 0);
  await page.getByLabel("Message").fill("half a thought");
  await row.getByText("Draft").waitFor();
  await page.waitForTimeout(500);
  await faked.open("/hosts");
  await row.getByText("Draft").waitFor();
});

test("3.4 Read marks: seeing the end of a turn marks it once, and what was read is not marked again", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length });
  const { answers, page } = faked;
  let readSeq = 0;
  const listed = () =>
    listing([
      {
        ...idle("ses_1", "Stop double payouts", 3),
        lastOutcome: "completed",
        lastOutcomeSeq: 400,
        readSeq,
      },
    ]);
  answers["search_sessions"] = (input) => listed()(input);
  answers["mark_session_read"] = ({ sessionId, seq }) => {
    readSeq = Number(seq);
    return { sessionId, readSeq };
  };
  const marked = () =>
    faked.calls
      .filter(({ action }) => action === "mark_session_read")
      .map(({ input }) => input["seq"]);
  await faked.open("/hosts");
  await sidebar(faked).getByRole("img", { name: "finished, not seen yet" }).waitFor();
  await sidebar(faked)
    .getByRole("link", { name: /Stop double/ })
    .click();
  await sidebar(faked).getByRole("img", { name: "open" }).waitFor();
  assert.deepEqual(marked(), [400]);
  await faked.open("/sessions/ses_1");
  await sidebar(faked).getByRole("img", { name: "open" }).waitFor();
  await page
    .getByText(/Turn .*finished/)
    .first()
    .waitFor();
  await page.waitForTimeout(500);
  assert.deepEqual(marked(), [400]);
});

test("4.2.8 Groups by state: /sessions has the same list, and its limits stand in the address", async () => {
  await using faked = await opened("/sessions?text=payouts");
  const { page, calls } = faked;
  const main = page.getByRole("main");
  await main.getByText("Stop double payouts on replayed webhooks").waitFor();
  assert.equal(await main.locator(".item").count(), 1);
  await main.getByRole("searchbox").fill("over 4");
  await main.getByText("Over 40").waitFor();
  assert.deepEqual(pathOf(faked), "/sessions?text=over+4");
  await main.getByRole("searchbox").fill("");
  await main.getByText("Daily dependency update").waitFor();
  await main.getByRole("button", { name: "All hosts" }).click();
  await page.getByRole("menuitemradio", { name: "builder-fra-2" }).click();
  await at(faked, "/sessions?host=ins_1");
  await main.getByRole("button", { name: "All agents" }).click();
  await page.getByRole("menuitemradio", { name: "Codex" }).click();
  await at(faked, "/sessions?host=ins_1&kind=codex");
  await page.waitForFunction(() => document.querySelector(".main .item") !== null);
  const last = calls.findLast(({ action }) => action === "search_sessions")!.input;
  assert.deepEqual([last["instanceId"], last["agentKind"]], ["ins_1", "codex"]);
  await page.reload();
  await main.getByRole("button", { name: "builder-fra-2" }).waitFor();
});

test("7 Keyboard: in ⌘K acts of the session first, then sessions, hosts and pages; Esc gives the focus back", async () => {
  await using faked = await opened();
  const { page } = faked;
  const palette = page.getByRole("dialog", { name: "Search or jump to" });
  await page.getByLabel("Message").focus();
  await page.keyboard.press("Control+k");
  await palette.getByRole("option").first().waitFor();
  await palette.getByRole("group", { name: "Sessions" }).waitFor();
  assert.deepEqual(await palette.locator("[cmdk-group-heading]").allInnerTexts(), [
    "In this session",
    "Sessions",
    "Hosts",
    "Everywhere",
  ]);
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("invoices");
  await page.waitForFunction(() => document.querySelectorAll("[cmdk-item]").length === 1);
  await page.keyboard.press("Enter");
  await at(faked, "/sessions/ses_ask4");
  await page.getByRole("button", { name: "Search or jump to" }).click();
  await page.keyboard.type("hosts");
  await page.keyboard.press("Enter");
  await at(faked, "/hosts");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("no such thing");
  await palette.getByText("Nothing has these words.").waitFor();
  assert.deepEqual(faked.errors, []);
});

test("7 Keyboard: the map shows the keys of the page, and single keys can be switched off (WCAG 2.1.4)", async () => {
  await using faked = await opened();
  const { page } = faked;
  const map = page.getByRole("dialog", { name: "Keys" });
  await page.locator(".log").waitFor();
  await page.keyboard.press("?");
  await map.getByRole("region", { name: "In this session" }).waitFor();
  assert.equal(await map.getByText("Stop the turn").count(), 0, "nothing runs");
  assert.equal(await map.getByText("New session").count(), 1);
  assert.equal(await map.getByText("To the prompt of this turn").count(), 1);
  await map.getByRole("checkbox").uncheck();
  assert.equal(await map.getByText("To the prompt of this turn").count(), 0);
  assert.equal(await map.getByText("Find in this session").count(), 1);
  await page.keyboard.press("Escape");
  await page.reload();
  await page.locator(".log").waitFor();
  for (const key of ["g", "h", "[", "/"]) await page.keyboard.press(key);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Search or jump to" }).waitFor();
  assert.equal(pathOf(faked), "/sessions/ses_1");
  assert.equal(await sidebar(faked).count(), 1);
});

test("3.1 Inbox: what has finished unseen stands below the requests, also if nobody waits", async () => {
  await using faked = await opened("/inbox");
  const { page, answers } = faked;
  const done = { ...session, lastOutcome: "completed", lastOutcomeSeq: 9 };
  answers["search_sessions"] = listing([
    { ...done, sessionId: "ses_done", title: "Add retries", readSeq: 3 },
    { ...done, sessionId: "ses_seen", title: "Read before", readSeq: 9 },
    { ...done, sessionId: "ses_busy", title: "At work", readSeq: 3, activity: "running" },
  ]);
  await page.reload();
  const main = page.getByRole("main");
  await main.getByText("Nobody is waiting for you. 1 session is running.").waitFor();
  await main.getByRole("heading", { name: "Finished, not read yet" }).waitFor();
  const lines = main.locator(".q-item .what");
  assert.deepEqual(await lines.allInnerTexts(), ["Add retries"]);
  await lines.click();
  await at(faked, "/sessions/ses_done");
});

test("5 Older page: a new version is a quiet line, and is loaded when the person says so", async () => {
  await using faked = await opened("/hosts");
  const { page } = faked;
  faked.changed();
  await page.waitForTimeout(300);
  assert.equal(await page.getByText("New version.").count(), 0);
  faked.servePage('<script type="module" crossorigin src="/assets/index-newer.js"></script>');
  faked.changed();
  await page.getByText("New version.").waitFor();
  faked.servePage(undefined);
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByText("New version.").waitFor({ state: "detached" });
});

test("5 Stream reconnecting: first the foot of the sidebar says so, then a strip says of when the page is", async () => {
  await using faked = await opened("/hosts");
  const { page } = faked;
  faked.changed();
  await page.getByText("Live").waitFor();
  faked.breakStreams(true);
  await page.getByText("Reconnecting").waitFor();
  await page.getByText(/^The connection is lost. This is how it looked at \d\d:\d\d/).waitFor();
  faked.breakStreams(false);
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
});
