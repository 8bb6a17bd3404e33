// The changes of a session in Chromium: files and diffs, comments on lines, and the prompt that they become.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findNothing, findNothingInDialog } from "./axe.ts";
import { fakeChanges, payouts, type FakedChanges, type Files } from "./changed-files.ts";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const path = `/sessions/${sessionId}`;
const withDiff: typeof session = { ...session, capabilities: ["diff"] };
const length = 40;

interface Opened extends FakedService {
  changes: FakedChanges;
}

async function opened(where: string, files: Files = payouts, width = 1440): Promise<Opened> {
  const faked = await openFaked({ entryAt: generatedEntry, length, width, record: withDiff });
  const changes = fakeChanges(faked, files);
  await faked.open(where);
  await faked.page.locator(".diff-head").first().waitFor();
  return Object.assign(faked, { changes });
}

const line = ({ page }: FakedService, number: number, side: "old" | "new" = "new") =>
  page.getByRole("button", { name: `Line ${number}, ${side}`, exact: true }).first();

/** Without those of actions that this service does not have. */
const errorsOf = ({ errors }: FakedService) => errors.filter((text) => !text.includes("404"));

const handler = "src/webhooks/handle-transfer.ts";
const sum = (lines: number, from = 1) =>
  Array.from({ length: lines }, (_, at) => `const line${from + at} = ${from + at};\n`).join("");

const turnFinished = (seq: number) => ({
  seq,
  at: "2026-11-15T10:00:00.000Z",
  turnId: "again",
  update: { sessionUpdate: "turn_finished", turnId: "again", outcome: "completed", reason: null },
});

const readsOf = ({ calls }: FakedService, action: string) =>
  calls.filter((each) => each.action === action).length;

test("4.1 Changes: letters, lines, inline in the panel, side by side in the review, coloured by a worker", async () => {
  await using faked = await opened(path);
  const { page } = faked;
  const files = page.locator(".files-list button");
  await page.locator(".letter.added").waitFor();
  assert.deepEqual(
    (await files.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim()),
    [
      "M Changed src/webhooks/handle-transfer.ts +11 −4",
      "A Added migrations/0042_webhook_receipts.sql +5",
      "M Changed test/webhooks/replay.test.ts +2",
    ],
  );
  await page.getByRole("region", { name: "Inline" }).waitFor();
  const removed = page.locator(".dl.del").first();
  assert.match(await removed.innerText(), /4\s+−\s+const seen = await/);
  await page.locator(".dl .k", { hasText: "export" }).first().waitFor();
  assert.equal(page.workers().length, 1);
  await page.getByRole("button", { name: "Review the changes" }).click();
  const split = page.getByRole("region", { name: "Side by side" });
  await split.waitFor();
  const pair = split.locator(".dl.split", { has: page.locator(".half.del") }).first();
  assert.match(await pair.innerText(), /4\s+const seen = await[^]*4\s+await db\.transaction/);
  await files.nth(1).click();
  await page.locator(".files-list [aria-current=true]", { hasText: "0042" }).waitFor();
  await page.getByRole("button", { name: "Inline", exact: true }).click();
  await page.getByRole("region", { name: "Inline" }).waitFor();
  await page.keyboard.press("]");
  await page.getByRole("tab", { name: "Changes" }).waitFor();
  assert.deepEqual([errorsOf(faked), faked.foreign], [[], []]);
});

test("4.1 Changes: a hunk is headed by the function that git names, and the first lines of a file by nothing", async () => {
  const text = (last: number) =>
    `const first = ${last};\n${sum(20)}export function total(items: Item[]) {\n${"  // item\n".repeat(8)}  return ${last};\n}\n`;
  await using faked = await opened(path, { "src/total.ts": [text(1), text(2)] });
  const { page } = faked;
  await page.locator(".dl.add").nth(1).waitFor();
  const headings = async () =>
    (await page.locator(".dl.hunk").allInnerTexts()).map((each) => each.trim());
  assert.deepEqual(await headings(), ["@@ export function total(items: Item[]) { @@"]);
  await page.getByRole("button", { name: "Review the changes" }).click();
  await page.getByRole("region", { name: "Side by side" }).waitFor();
  await page.locator(".dl.hunk").waitFor();
  assert.deepEqual(await headings(), ["@@ export function total(items: Item[]) { @@"]);
});

test("4.1 Changes: read again after a turn, at most every 2 s; a file that was viewed is folded until its patch changes", async () => {
  await using faked = await opened(`${path}/review`);
  const { page, changes } = faked;
  const viewed = page.getByRole("checkbox", { name: "Viewed" }).first();
  await line(faked, 4, "old").waitFor();
  await viewed.check();
  await line(faked, 4, "old").waitFor({ state: "detached" });
  // It is stored a moment later.
  await page.waitForTimeout(500);
  await page.reload();
  await page.locator(".files-list .letter.modified").first().waitFor();
  assert.equal(await viewed.isChecked(), true, "kept on the device");
  assert.equal(await line(faked, 4, "old").count(), 0);
  const before = readsOf(faked, "get_session_diff");
  changes.files = { ...payouts, [handler]: [payouts[handler]![0], "gone\n"] };
  const committed = "Nothing is committed yet. Only commits are pushed.";
  assert.equal(await page.getByText(committed).count(), 0, "nothing is guessed");
  const git = { commits: 0, unpushedCommits: 0, uncommittedFiles: 1 };
  faked.answers["get_session_git"] = () => git;
  faked.add(turnFinished(length + 1), turnFinished(length + 2), turnFinished(length + 3));
  await page.getByText(committed).waitFor();
  await page.locator(".t", { hasText: "gone" }).waitFor();
  assert.equal(await viewed.isChecked(), false);
  assert.ok(readsOf(faked, "get_session_diff") - before <= 2, "three entries, one reading");
  Object.assign(git, { commits: 2, unpushedCommits: 1 });
  changes.live = false;
  faked.add(turnFinished(length + 4));
  await page.getByText("2 commits, 1 not pushed, 1 uncommitted file").waitFor();
  await page.getByText("As of 09:41").waitFor();
});

test("4.1 Changes: files that are large, made by programs or not text are closed with a reason; only rows in sight are drawn", async () => {
  await using faked = await opened(`${path}/review`, {
    "a-large.ts": [sum(10), sum(3_000, 11)],
    "b/package-lock.json": ["{}\n", '{ "a": 1 }\n'],
    "c.bin": [undefined, "\u0000\u0001"],
    "d-moved.ts": [sum(30), sum(29)],
  });
  const { page } = faked;
  const head = (name: string) => page.locator(".diff-row", { has: page.getByTitle(name) });
  await page.getByText("More than 400 lines are changed.").waitFor();
  await page.getByText("This file is made by a program.").waitFor();
  await page.getByText("This file is not text.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Show it" }).count(), 2);
  const read = () =>
    faked.calls
      .filter(({ action, input }) => action === "get_session_file_diff" && !("cursor" in input))
      .map(({ input }) => String(input["path"]));
  assert.deepEqual(new Set(read()), new Set(["c.bin", "d-moved.ts"]), "closed files are not read");
  await page.getByRole("button", { name: "Show it" }).first().click();
  await line(faked, 20).waitFor();
  assert.ok((await page.locator(".dl").count()) < 150);
  await page.locator(".diff").hover();
  for (let turn = 0; turn < 5; turn++) await page.mouse.wheel(0, 8_000);
  await page.locator(".t", { hasText: "const line2" }).first().waitFor();
  assert.equal(await head("a-large.ts").isVisible(), true, "its head stays at the top");
  assert.ok((await page.locator(".dl").count()) < 150);
  assert.deepEqual(errorsOf(faked), []);
});

test("4.2.1 Comments on lines: drag, Shift+↓, C, Command+Enter and Esc; kept on the device", async () => {
  await using faked = await opened(`${path}/review`);
  const { page } = faked;
  const field = page.getByRole("textbox", { name: /^Comment on/ });
  const tray = page.getByRole("region", { name: "Comments" });
  await line(faked, 7).hover();
  assert.equal(await tray.count(), 0, "nothing is shown without a comment");
  await page.mouse.down();
  await line(faked, 11).hover();
  await page.mouse.up();
  await page.getByRole("textbox", { name: "Comment on lines 7 to 11, new" }).waitFor();
  await page.keyboard.type("First line,");
  await page.keyboard.press("Enter");
  await page.keyboard.type("second line.");
  await page.keyboard.press("Control+Enter");
  await tray.getByText("1 comment, not sent").waitFor();
  assert.equal(await page.locator(".remark p").innerText(), "First line,\nsecond line.");
  await page.waitForFunction(() => document.activeElement?.matches("button.n[data-line='11']"));

  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("c");
  await page.getByRole("textbox", { name: "Comment on lines 12 to 13, new" }).waitFor();
  await page.keyboard.type("Not yet ");
  await page.keyboard.press("Escape");
  await page.locator(".remark", { hasText: "Draft" }).waitFor();
  assert.equal(await tray.getByText("1 comment, not sent").count(), 1, "a draft is not sent");
  assert.equal(await field.count(), 0);
  await line(faked, 1, "old").focus();
  await page.keyboard.press("c");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".remark").count(), 2, "an empty one is no draft");
  // A draft is stored a moment after it was typed.
  await page.waitForTimeout(500);
  await page.reload();
  await tray.getByText("1 comment, not sent").waitFor();
  await page.locator(".remark", { hasText: "Draft" }).getByLabel("Edit the comment").click();
  assert.equal(await field.inputValue(), "Not yet ");
  await page.keyboard.type("written.");
  await page.keyboard.press("Control+Enter");
  await tray.getByText("2 comments, not sent").waitFor();
  await page.locator(".remark", { hasText: "Not yet written." }).waitFor();

  await page.locator("body").press("n");
  await page.waitForFunction(() => document.activeElement?.matches(".remark"));
  const focused = () => page.evaluate(() => document.activeElement!.querySelector("p")!.innerText);
  const one = await focused();
  await page.keyboard.press("j");
  await page.waitForFunction(
    (before) => document.activeElement?.querySelector("p")?.innerText !== before,
    one,
  );
  await page.keyboard.press("k");
  await page.waitForFunction(
    (before) => document.activeElement?.querySelector("p")?.innerText === before,
    one,
  );
  assert.deepEqual(errorsOf(faked), []);
});

test("4.2.1 Comments on lines: a comment moves along with its lines, and says when they have changed", async () => {
  const before = sum(20);
  const file = "a.ts";
  await using faked = await opened(`${path}/review`, { [file]: [before, sum(20, 101)] });
  const { page, changes } = faked;
  await line(faked, 5).click();
  await page.keyboard.type("Why 105?");
  await page.keyboard.press("Control+Enter");
  await page.getByText("line 5, new").waitFor();
  changes.files = { [file]: [before, sum(20, 301) + sum(20, 101)] };
  faked.add(turnFinished(length + 1));
  await page.getByText("line 25, new").waitFor();
  const card = page.locator(".diff-row", { hasText: "Why 105?" });
  const above = await card.evaluate((row) => {
    const at = Number((row as HTMLElement).dataset["index"]) - 1;
    return row.parentElement!.querySelector(`[data-index="${at}"]`)!.textContent;
  });
  assert.match(above, /const line105/);
  changes.files = { [file]: [before, sum(20, 201)] };
  faked.add(turnFinished(length + 2));
  await card.getByText("The lines have changed since").waitFor();
  await card.getByText("const line105 = 105;").waitFor();
  changes.files = {};
  faked.add(turnFinished(length + 3));
  await page.getByText("This file is not among the changed ones any more.").waitFor();
  await card.getByText("The lines have changed since").waitFor();
});

test("4.2.1 Comments on lines: sent as one prompt in a fixed form; the draft stays; path:line leads back to the line", async () => {
  await using faked = await opened(path);
  const { page, answers, calls } = faked;
  const said: string[] = [];
  answers["send_prompt"] = ({ text }) => {
    said.push(String(text));
    return { messageId: "msg_1", turnId: "again" };
  };
  await page.getByLabel("Message").fill("A draft.");
  await page.getByLabel("Message").press("Escape");
  await line(faked, 7).click();
  await page.keyboard.type("Name the constraint.");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 comment, not sent").waitFor();
  await page.getByRole("button", { name: "More about these comments" }).click();
  await page.getByRole("menuitem", { name: "Preview, and a first sentence" }).click();
  const dialog = page.getByRole("dialog", { name: "1 comment, not sent" });
  await dialog.getByLabel("First sentence").fill("Mend this.");
  const prompt = [
    "Mend this.",
    "",
    `${handler}:7 (new)`,
    "```",
    "    const first = await tx.one`",
    "```",
    "Name the constraint.",
  ].join("\n");
  assert.equal(await dialog.getByLabel("The prompt as it will be sent").innerText(), prompt);
  await dialog.getByRole("button", { name: "Send as one prompt" }).click();
  await page.getByText("Sent. It stands in the conversation.").waitFor();
  assert.deepEqual(said, [prompt]);
  assert.equal(await page.locator(".remark").count(), 0);
  assert.equal(await page.getByLabel("Message").inputValue(), "A draft.");
  faked.add({
    ...turnFinished(length + 1),
    update: {
      sessionUpdate: "user_message_chunk",
      messageId: "msg_1",
      content: { type: "text", text: prompt },
    },
  });
  await page
    .locator(".said:not(.pending)")
    .getByRole("link", { name: `${handler}:7 (new)` })
    .click();
  await page.getByRole("region", { name: "Side by side" }).waitFor();
  await page.waitForFunction(() => document.activeElement?.matches("button.n[data-line='7']"));
  await page.waitForFunction(() => !location.search.includes("line="));
  await page.keyboard.press("]");
  await page.reload();
  await page.waitForFunction(
    () => document.querySelector<HTMLTextAreaElement>(".composer textarea")?.value === "A draft.",
  );
  assert.equal(calls.filter(({ action }) => action === "send_prompt").length, 1);
});

test("7 Keyboard: while the conversation is out of sight, its request has no keys", async () => {
  await using faked = await opened(path);
  const { page, answers, calls } = faked;
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? [request] : [],
    nextCursor: null,
  });
  answers["answer_permission"] = () => ({ status: "answered" });
  await page.reload();
  await page.getByRole("button", { name: "Reject" }).waitFor();
  await page.waitForTimeout(600);
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Side by side" }).waitFor();
  await page.keyboard.press("n");
  await page.keyboard.press("y");
  await page.keyboard.press("]");
  await page.getByRole("button", { name: "Reject" }).waitFor();
  assert.equal(calls.filter(({ action }) => action === "answer_permission").length, 0);
  await page.keyboard.press("y");
  await page.getByText("Allowed once. The agent took it.").waitFor();

  const options = ["PostgreSQL", "SQLite"].map((label) => ({ label, description: null }));
  const questions = [{ question: "Which?", options, multiple: false, freeText: false }];
  const asked = { ...request, requestId: "req_2", type: "question", permission: null, questions };
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? [asked] : [],
    nextCursor: null,
  });
  await page.reload();
  const first = page.getByRole("radio", { name: "PostgreSQL" });
  await first.waitFor();
  // Longer than the card is deaf.
  await page.waitForTimeout(600);
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Side by side" }).waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("]");
  await first.waitFor();
  assert.equal(await first.getAttribute("aria-checked"), "false");
  await page.keyboard.press("1");
  await page.locator("[role=radio][aria-checked=true]").waitFor();
});

const request = {
  requestId: "req_1",
  type: "permission",
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: { title: "Run a command", detail: "npm test", alwaysRules: [] },
  questions: null,
  rule: "no rule allows the command",
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: new Date().toISOString(),
  resolvedAt: null,
};

test("9 Phone: comments by long press, and the tray is the bottom bar", async () => {
  await using faked = await opened(`${path}/review`, payouts, 390);
  const { page } = faked;
  await page.getByRole("region", { name: "Inline" }).waitFor();
  const number = line(faked, 4);
  const press = (kind: string) =>
    number.dispatchEvent(kind, { pointerType: "touch", button: 0, bubbles: true });
  await press("pointerdown");
  await press("pointerup");
  await page.waitForTimeout(700);
  assert.equal(await page.locator(".remark").count(), 0, "a short press does nothing");
  await press("pointerdown");
  await page.getByRole("textbox", { name: "Comment on line 4, new" }).waitFor();
  await press("pointerup");
  await page.keyboard.type("Hold the lock.");
  await page.getByRole("button", { name: /Add comment/ }).click();
  const tray = page.getByRole("region", { name: "Comments" });
  const { y, height } = (await tray.boundingBox())!;
  assert.equal(Math.round(y + height), 844);
  await tray.getByRole("button", { name: "More about these comments" }).click();
  await page.getByRole("menuitem", { name: "Discard all" }).click();
  const sure = page.getByRole("dialog", { name: "Discard 1 comment?" });
  await sure.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await tray.count(), 1);
  await tray.getByRole("button", { name: "More about these comments" }).click();
  await page.getByRole("menuitem", { name: "Discard all" }).click();
  await sure.getByRole("button", { name: "Discard all" }).click();
  await tray.waitFor({ state: "detached" });
  assert.equal(await page.locator(".remark").count(), 0);
});

for (const width of [1440, 390]) {
  for (const theme of ["light", "dark"] as const) {
    test(`8 Accessibility: the review at ${width} pixels in ${theme} has no finding`, async () => {
      await using faked = await opened(`${path}/review`, payouts, width);
      const { page } = faked;
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.locator(".dl .k").first().waitFor();
      await line(faked, 4).focus();
      await page.keyboard.press("c");
      await page.keyboard.type("One.");
      await page.keyboard.press("Control+Enter");
      await line(faked, 5).focus();
      await page.keyboard.press("c");
      await page.keyboard.type("Two.");
      await findNothing(page, "the review");
      await page.getByRole("button", { name: "More about these comments" }).click();
      await page.getByRole("menuitem", { name: "Preview, and a first sentence" }).click();
      await findNothingInDialog(page, "the preview of comments");
    });
  }
}
