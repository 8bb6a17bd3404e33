// Reading a session in Chromium: where it opens, what moves and what stays, hostile text, typing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserPage } from "@hawser/testkit/browser.ts";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

type Page = BrowserPage["page"];

const path = `/sessions/${sessionId}`;

async function reading(length = 1_000, width = 1440): Promise<FakedService> {
  const faked = await openFaked({ entryAt: generatedEntry, length, width });
  await faked.open(path);
  await faked.page.locator(".log-row").first().waitFor();
  await settled(faked.page);
  return faked;
}

/** Two frames without a change of the scrolled height. */
const settled = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const log = document.querySelector(".log")!;
        let before = -1;
        let same = 0;
        const look = () => {
          same = log.scrollHeight === before ? same + 1 : 0;
          before = log.scrollHeight;
          if (same > 20) resolve();
          else requestAnimationFrame(look);
        };
        look();
      }),
  );

const fromEnd = (page: Page) =>
  page.evaluate(() => {
    const log = document.querySelector(".log")!;
    return log.scrollHeight - log.clientHeight - log.scrollTop;
  });

/** The first row that is wholly in sight, and where its top is. */
const firstRow = (page: Page) =>
  page.evaluate(() => {
    const top = document.querySelector(".log")!.getBoundingClientRect().top;
    for (const row of [...document.querySelectorAll(".log-row")].sort(
      (a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top,
    )) {
      const place = row.getBoundingClientRect().top - top;
      if (place >= 0) return { text: row.textContent, place: Math.round(place) };
    }
    return undefined;
  });

const entryAfter = (length: number) => generatedEntry(length + 1);

test("4.1 Transcript: it opens at its end, and follows the end", async () => {
  await using faked = await reading(1_000);
  const { page } = faked;
  assert.ok((await fromEnd(page)) <= 1);
  const said = { ...generatedEntry(3), seq: 1_001, turnId: "new" };
  faked.add({
    ...said,
    update: {
      ...said.update,
      messageId: "new",
      content: { type: "text", text: "The newest.\n\n".repeat(12) },
    },
  });
  await page.getByText("The newest.").first().waitFor();
  await settled(page);
  assert.ok((await fromEnd(page)) <= 1);
  assert.deepEqual([faked.errors, faked.warnings], [[], []]);
});

test("4.1 Transcript: a person who scrolls up is left in peace, also 20 px above the end", async () => {
  await using faked = await reading(1_000);
  const { page } = faked;
  for (const distance of [20, 600]) {
    await page.locator(".log").hover();
    await page.mouse.wheel(0, -distance);
    await page.waitForTimeout(200);
    await settled(page);
    const before = await firstRow(page);
    const length = 1_000 + (distance === 20 ? 0 : 4);
    faked.add(
      ...[1, 2, 3, 4].map((more) => ({
        ...entryAfter(0),
        seq: length + more,
        update: { sessionUpdate: "session_compacted" },
      })),
    );
    await page.getByRole("button", { name: /^\d new$/ }).waitFor();
    await settled(page);
    assert.deepEqual(await firstRow(page), before, `${distance} px above the end`);
  }
  await page.getByRole("button", { name: "8 new" }).click();
  await settled(page);
  assert.ok((await fromEnd(page)) <= 1);
  assert.equal(await page.getByRole("button", { name: /new$/ }).count(), 0);
});

test("4.1 Transcript: older pages load above without moving what is read", async () => {
  await using faked = await reading(1_000);
  const { page, calls } = faked;
  const pagesRead = () => calls.filter(({ action }) => action === "list_session_events").length;
  await page.locator(".log").hover();
  let moved = 0;
  for (let turn = 0; turn < 12 && pagesRead() < 4; turn++) {
    await page.mouse.wheel(0, -3_000);
    await page.waitForTimeout(120);
    await settled(page);
    const before = await firstRow(page);
    await page.waitForTimeout(250);
    const after = await firstRow(page);
    if (before?.text === after?.text)
      moved = Math.max(moved, Math.abs(before!.place - after!.place));
    else moved = Infinity;
  }
  assert.ok(pagesRead() >= 3, `${pagesRead()} pages`);
  assert.ok(moved <= 1, `moved by ${moved} px`);
});

test("4.1 Transcript: opening a fold keeps the clicked line where it is", async () => {
  await using faked = await reading(400);
  const { page } = faked;
  const fold = page.locator(".fold-line").last();
  const before = (await fold.boundingBox())!;
  await fold.click();
  await settled(page);
  const after = (await page.locator(".fold-line[aria-expanded='true']").last().boundingBox())!;
  assert.ok(Math.abs(after.y - before.y) <= 1, `${before.y} ${after.y}`);
});

test("4.1 Transcript: the view returns to where it was read", async () => {
  await using faked = await reading(400);
  const { page } = faked;
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -2_000);
  await page.waitForTimeout(200);
  await settled(page);
  const before = await firstRow(page);
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await page.getByText("Nobody is waiting for you.").waitFor();
  await page.goBack();
  await page.locator(".log-row").first().waitFor();
  await settled(page);
  const after = await firstRow(page);
  assert.equal(after?.text, before?.text);
});

const hostile = [
  "<script>window.hacked = 1</script>",
  '<img src="https://evil.example/beacon.png" onerror="window.hacked = 2">',
  '<iframe src="https://evil.example/"></iframe>',
  "[click](javascript:window.hacked=3) [data](data:text/html,<script>1</script>) [tab](java\tscript:alert(1))",
  "![beacon](https://evil.example/beacon2.png)",
  "[shown](https://evil.example/path)",
  "<style>body{display:none}</style>",
  "\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 \u202ecod.exe",
  "[ref]: javascript:window.hacked=4\n\n[ref]",
  "`<b>code</b>` **<u>bold</u>**",
  "<https://user:password@evil.example/>",
].join("\n\n");

const hasHidden = (text: string) => text.includes("\u001b") || text.includes("\u202e");

test("T5, N30: hostile text of an agent is inert: no element, no request, no script", async () => {
  await using faked = await openFaked({
    length: 4,
    record: { ...session, title: hostile },
    entryAt: (seq) => ({
      ...generatedEntry(seq),
      update: [
        {
          sessionUpdate: "user_message_chunk",
          messageId: "p",
          content: { type: "text", text: hostile },
        },
        {
          sessionUpdate: "agent_message_chunk",
          messageId: "m",
          content: { type: "text", text: hostile },
          parentToolCallId: null,
        },
        {
          sessionUpdate: "tool_call",
          toolCallId: hostile,
          title: hostile,
          kind: hostile,
          status: "in_progress",
          rawInput: { path: hostile },
          parentToolCallId: null,
        },
        {
          sessionUpdate: "tool_call_update",
          toolCallId: hostile,
          status: "failed",
          content: [{ type: "content", content: { type: "text", text: hostile } }],
        },
      ][seq - 1]!,
    }),
  });
  const { page, answers } = faked;
  const asked = {
    ...request,
    permission: { title: hostile, detail: hostile, alwaysRules: [hostile] },
    rule: hostile,
  };
  const question = { question: hostile, multiple: false, freeText: true };
  const options = [{ label: hostile, description: hostile }];
  let requests: object[] = [asked];
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? requests : [],
    nextCursor: null,
  });
  await faked.open(path);
  await page.getByText("click").first().waitFor();
  const card = page.locator(".ask-card");
  await card.waitFor();
  const inCard = await card.evaluate((element) => ({
    links: element.querySelectorAll("a").length,
    shown: element.textContent.includes("<script>window.hacked = 1</script>"),
    text: element.textContent,
  }));
  assert.deepEqual([inCard.links, inCard.shown, hasHidden(inCard.text)], [0, true, false]);
  assert.equal(hasHidden(await page.title()), false);
  assert.match(await page.title(), /^\(1\) <script>.*U\+202E/);
  const seen = await page.evaluate(() => ({
    hacked: (window as unknown as { hacked?: number }).hacked,
    elements: document.querySelectorAll(
      "#root :is(script, img, iframe, style, object, embed, link)",
    ).length,
    // Commands and titles show hidden characters.
    named: [
      ...document.querySelectorAll(
        ".log [data-call] button, .log [data-call] code, header, .sidebar",
      ),
    ].map(({ textContent }) => textContent),
    links: [...document.querySelectorAll<HTMLAnchorElement>(".log a")].map(
      ({ href, rel, target }) => [href, rel, target],
    ),
  }));
  const { named, ...rest } = seen;
  assert.ok(named.length > 0 && !named.some((text) => hasHidden(text)));
  const kept = ["noopener noreferrer nofollow", "_blank"];
  assert.deepEqual(rest, {
    hacked: undefined,
    elements: 0,
    links: [
      ["https://evil.example/beacon2.png", ...kept],
      ["https://evil.example/path", ...kept],
    ],
  });
  assert.ok(
    (await page.locator(".log").innerText()).includes("<script>window.hacked = 1</script>"),
  );
  requests = [
    { ...request, type: "question", permission: null, questions: [{ ...question, options }] },
  ];
  await faked.open("/inbox");
  await card.getByRole("radio").waitFor();
  assert.equal(await card.locator("a, img, script").count(), 0);
  assert.equal(hasHidden((await card.textContent())!), false);
  assert.deepEqual([faked.foreign, faked.errors], [[], []]);
});

test("4.1 Composer: the draft survives a reload, and another session does not have it", async () => {
  await using faked = await reading(40);
  const { page } = faked;
  const box = page.getByLabel("Message");
  await box.fill("half a thou");
  await page.waitForTimeout(700);
  await page.reload();
  await page.waitForFunction(() => document.querySelector("textarea")?.value === "half a thou");
  faked.answers["get_session_summary"] = () => ({ ...session, sessionId: "ses_2" });
  await faked.open("/sessions/ses_2");
  await page.getByLabel("Message").waitFor();
  assert.equal(await page.getByLabel("Message").inputValue(), "");
});

test("4.1 Composer: Enter sends, but not while an input method composes; the prompt is pending until the log has it", async () => {
  await using faked = await reading(40);
  const { page, calls, answers } = faked;
  answers["send_prompt"] = () => ({ sessionId, turnId: "t9", messageId: "own", queued: false });
  const sent = () => calls.filter(({ action }) => action === "send_prompt").length;
  const box = page.getByLabel("Message");
  await box.fill("にほん");
  await box.dispatchEvent("keydown", {
    key: "Enter",
    keyCode: 229,
    isComposing: true,
    bubbles: true,
  });
  assert.equal(sent(), 0);
  await box.press("Enter");
  await page.locator(".said.pending").getByText("にほん").waitFor();
  assert.equal(await box.inputValue(), "");
  faked.add({
    ...generatedEntry(2),
    seq: 41,
    turnId: "t9",
    update: {
      sessionUpdate: "user_message_chunk",
      messageId: "own",
      content: { type: "text", text: "にほん" },
    },
  });
  await page.locator(".said:not(.pending)").getByText("にほん").waitFor();
  assert.deepEqual(
    [sent(), await page.locator(".said.pending").count(), await box.inputValue()],
    [1, 0, ""],
  );
});

const request = {
  requestId: "req_1",
  type: "permission",
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: {
    title: "Run a command",
    detail: "rm -rf /srv/\u202epayouts",
    alwaysRules: ["bash: rm -rf /srv"],
  },
  questions: null,
  rule: "no rule allows the command",
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: new Date().toISOString(),
  resolvedAt: null,
};

test("4.1 Request card: no focus is taken, Enter never answers, the card is deaf at first, letters in a field write", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length: 40 });
  const { page, calls, answers } = faked;
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? [request] : [],
    nextCursor: null,
  });
  let status = "answered";
  answers["answer_permission"] = () => ({ status });
  const answered = () =>
    calls
      .filter(({ action }) => action === "answer_permission")
      .map(({ input }) => input["answer"]);
  await page.addInitScript(() => {
    // Presses Y as soon as the card is there.
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".ask-card")) return;
      observer.disconnect();
      window.dispatchEvent(new KeyboardEvent("keydown", { key: "y" }));
    }).observe(document, { childList: true, subtree: true });
  });
  await faked.open(path);
  const card = page.getByRole("region", { name: "Permission request" });
  await card.waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "BODY");
  assert.equal(await card.locator(".strange").first().innerText(), "U+202E");
  await page.waitForTimeout(700);
  assert.deepEqual(answered(), [], "deaf for 500 ms");
  await page.getByLabel("Message").pressSequentially("yes any");
  assert.equal(await page.getByLabel("Message").inputValue(), "yes any");
  await card.getByText("Esc first").waitFor();
  await page.keyboard.press("Escape");
  await card.getByRole("button", { name: "Allow once" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForTimeout(100);
  assert.deepEqual(answered(), [], "Enter never answers");
  status = "undeliverable";
  await page.keyboard.press("y");
  await card.getByText("Recorded, but the host could not be reached.").waitFor();
  status = "answered";
  await card.getByRole("button", { name: "Send again" }).click();
  await card.getByText("Allowed once. The agent took it.").waitFor();
  await card.waitFor({ state: "detached" });
  assert.deepEqual(answered(), ["once", "once"]);
});

test("4.2.7 Images: a prompt shows its author and its pictures, by what their bytes are", async () => {
  await using faked = await reading(20);
  const { page } = faked;
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  const read: string[] = [];
  await page.route("**/api/files/*", async (route) => {
    const fileId = new URL(route.request().url()).pathname.split("/").at(-1)!;
    read.push(fileId);
    assert.equal(route.request().headers()["x-hawser-organization"], "org_1");
    if (fileId === "fil_gone") await route.fulfill({ status: 404, json: {} });
    else await route.fulfill({ body: fileId === "fil_png" ? png : svg });
  });
  faked.answers["list_session_turns"] = () => ({
    turns: [{ by: { userId: "usr_2", name: "Jonas Weber" } }],
    nextCursor: null,
  });
  const file = (fileId: string | null, filename: string, mime = "image/png") => ({
    fileId,
    filename,
    mime,
    size: 68,
  });
  const attachments = [
    file("fil_png", "dot.png"),
    file("fil_svg", "not-a.png"),
    file("fil_gone", "gone.png"),
    file("fil_text", "notes.txt", "text/plain"),
    file(null, "elsewhere.png"),
  ];
  const update = {
    sessionUpdate: "user_message_chunk",
    messageId: "m-files",
    content: { type: "text", text: "look" },
    by: "usr_2",
    attachments,
  };
  faked.add({ ...generatedEntry(21), update });
  const prompt = page.locator("#m-files");
  await prompt.getByText("Jonas Weber").waitFor();
  const picture = prompt.getByRole("button", { name: "Show dot.png" });
  await picture.waitFor();
  const { width, height } = (await picture.boundingBox())!;
  assert.deepEqual([width, height], [104, 66]);
  const names = ["not-a.png", "gone.png", "notes.txt", "elsewhere.png"];
  for (const name of names) await prompt.getByText(name).waitFor();
  assert.deepEqual(read.sort(), ["fil_gone", "fil_png", "fil_svg"]);
  assert.equal(await prompt.locator("img").count(), 1);
  await picture.click();
  const shown = page.getByRole("dialog", { name: "dot.png" }).getByRole("img", { name: "dot.png" });
  assert.match((await shown.getAttribute("src"))!, /^blob:/);
  await page.keyboard.press("Escape");
  await shown.waitFor({ state: "detached" });
  assert.deepEqual(faked.foreign, []);
});

test("3.3 A cut entry: all of it is read in steps when somebody asks, and drawn without escape codes", async () => {
  await using faked = await reading(20);
  const { page, answers } = faked;
  const esc = "\u001b[31m";
  const output = Array.from({ length: 3_000 }, (_, at) => `${esc}line ${at}`).join("\n");
  const whole = JSON.stringify({ sessionUpdate: "shell", output });
  const half = Math.floor(whole.length / 2);
  answers["read_session_entry"] = ({ seq, cursor }) => ({
    seq,
    size: whole.length,
    omitted: null,
    text: cursor === undefined ? whole.slice(0, half) : whole.slice(half),
    nextCursor: cursor === undefined ? "c1" : null,
  });
  const update = {
    sessionUpdate: "shell",
    shellId: "shl_1",
    output: `${esc}line 0\n… cut …`,
    exitCode: 0,
    reason: null,
    _meta: { "hawser/whole": { size: 2_400_000, sha256: "00".repeat(32) } },
  };
  faked.add({ ...generatedEntry(21), turnId: null, update });
  await page.getByText("Cut here, 2.4 MB in all").waitFor();
  assert.equal(
    await page.getByRole("group", { name: "Output", exact: true }).last().textContent(),
    "line 0\n… cut …",
  );
  await page.getByRole("button", { name: "Show all" }).last().click();
  const dialog = page.getByRole("dialog", { name: "The whole entry, 2.4 MB" });
  await dialog.getByText("line 0", { exact: true }).waitFor();
  assert.ok((await dialog.locator(".terminal-line").count()) < 200);
  const inputs = faked.calls.filter(({ action }) => action === "read_session_entry");
  assert.deepEqual(
    inputs.map(({ input }) => input["cursor"]),
    [undefined, "c1"],
  );
});
