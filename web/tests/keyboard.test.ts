// Every act of the keyboard in Chromium: each of its keys does what the map says. An act without a proof here is an error
// of the compiler.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { acts, actIds, type ActId } from "../src/keyboard/acts.ts";
import { fakeChanges, payouts } from "./changed-files.ts";
import { listing, openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";
import { manySessions } from "./many-sessions.ts";

const length = 80;
const here = `/sessions/${sessionId}`;
let faked: FakedService;
let page: FakedService["page"];

before(async () => {
  faked = await openFaked({
    entryAt: generatedEntry,
    length,
    record: { ...session, capabilities: ["diff", "fork", "revert", "shell"] },
  });
  ({ page } = faked);
  const { answers } = faked;
  answers["search_sessions"] = listing(manySessions);
  answers["get_session_git"] = () => ({ branch: "b", base: null, commits: 1, unpushedCommits: 1 });
  answers["abort_session"] = () => ({ sessionId, aborted: true, droppedPrompts: 0 });
  answers["answer_permission"] = () => ({ status: "answered" });
  fakeChanges(faked, payouts);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
});
after(() => faked[Symbol.asyncDispose]());

/** Opens a page, and waits until its keys are there. */
async function open(path: string, ready = ".log-row"): Promise<void> {
  const isThere = new URL(page.url()).pathname === path && ready === ".log-row";
  const isClean = (await page.locator("dialog[open], .ask-card").count()) === 0;
  if (!isThere || !isClean) await faked.open(path);
  await page.locator(ready).first().waitFor();
  await page.locator(".list .item").first().waitFor();
}

const at = (path: string) => page.waitForURL((url) => url.pathname === path);
const callsOf = (wanted: string) =>
  faked.calls.filter(({ action }) => action === wanted).map(({ input }) => input);
const focused = (selector: string) =>
  page.waitForFunction((wanted) => document.activeElement?.matches(wanted), selector);

const leadsTo = (path: string) => async (press: () => Promise<void>) => {
  await press();
  await at(path);
};
const opensDialog = (name: string) => async (press: () => Promise<void>) => {
  await press();
  await page.getByRole("dialog", { name }).waitFor();
};

let lastSeq = length;
/** Adds an entry to the log. */
const report = (update: Parameters<FakedService["add"]>[0]["update"], turnId = "t9") =>
  faked.add({ seq: ++lastSeq, at: new Date().toISOString(), turnId, update });

let raised = 0;
/** A request that waits, on the page of its session. */
async function raise(about: object): Promise<void> {
  const request = {
    requestId: `req_${++raised}`,
    type: "permission",
    sessionId,
    instanceId: "ins_1",
    answerable: true,
    status: "pending",
    permission: { title: "Run a command", detail: "npm test", alwaysRules: ["bash: npm test"] },
    questions: null,
    rule: null,
    raisedAt: new Date().toISOString(),
    ...about,
  };
  faked.answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? [request] : [],
    nextCursor: null,
  });
  await open(here);
  faked.changed();
  await page.locator(".ask-card").waitFor();
  // Cards are deaf at first.
  await page.waitForTimeout(600);
}

const answers = (answer: string) => async (press: () => Promise<void>) => {
  await raise({});
  await press();
  await page.getByText("The agent took it.").or(page.getByText("goes on without it")).waitFor();
  assert.deepEqual(callsOf("answer_permission").at(-1), { requestId: `req_${raised}`, answer });
  faked.answers["search_requests"] = () => ({ requests: [], nextCursor: null });
};

let isCommented = false;
/** Opens the review, with comments on two lines. */
async function openComments(): Promise<void> {
  if (page.url().includes("/review")) return;
  await open(`${here}/review`, ".diff-head");
  if (isCommented) return page.locator(".remark").nth(1).waitFor();
  isCommented = true;
  for (const line of [2, 4]) {
    const number = page.getByRole("button", { name: `Line ${line}, new`, exact: true }).first();
    await number.focus();
    await page.keyboard.press("c");
    await page.keyboard.type(`On line ${line}.`);
    await page.keyboard.press("Control+Enter");
    await page.locator(".remark", { hasText: `On line ${line}.` }).waitFor();
  }
  // A draft is stored a moment after it was typed.
  await page.waitForTimeout(500);
}

const leadsToRemark = (from: number, to: number) => async (press: () => Promise<void>) => {
  await openComments();
  await page.locator(".remark", { hasText: `On line ${from}.` }).focus();
  await press();
  await page.waitForFunction(
    (wanted) => document.activeElement?.querySelector("p")?.innerText === wanted,
    `On line ${to}.`,
  );
};

type Proof = (press: () => Promise<void>, key: string | undefined) => Promise<unknown>;

/** Each begins on the page of a session where nothing runs and nothing waits. */
const proofs: Record<ActId, Proof> = {
  palette: opensDialog("Search or jump to"),
  new_session: leadsTo("/new"),
  go_inbox: leadsTo("/inbox"),
  go_sessions: leadsTo("/sessions"),
  go_hosts: leadsTo("/hosts"),
  unread: leadsTo("/sessions/ses_new"),
  async sidebar(press) {
    const list = page.getByRole("region", { name: "Sessions" });
    await press();
    await list.waitFor({ state: "detached" });
    await press();
    await list.waitFor();
  },
  keys: opensDialog("Keys"),
  async next(press) {
    await open("/sessions", ".main .item");
    await press();
    await focused(".main [data-list] .item:first-child, .main .item");
  },
  async former(press) {
    await open("/sessions", ".main .item");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const second = await page.evaluate(() => document.activeElement?.textContent);
    await press();
    await page.waitForFunction((before) => document.activeElement?.textContent !== before, second);
  },
  async open(press) {
    await open("/sessions", ".main .item");
    await page.keyboard.press("j");
    await press();
    await page.waitForURL("**/sessions/ses_*");
  },
  async compose(press) {
    await press();
    await focused("textarea");
    // In a field they are letters.
    await page.keyboard.type("cgh?[pn");
    assert.equal(await page.getByLabel("Message").inputValue(), "cgh?[pn");
    await page.getByLabel("Message").fill("");
    await page.keyboard.press("Escape");
  },
  async find(press) {
    await press();
    await page.getByLabel("Find in this session").waitFor();
    await page.keyboard.press("Escape");
  },
  async queue(press) {
    const turn = { turnId: "t9", messageId: "m9" };
    const by = { userId: "usr_1", name: "Mira" };
    const asked = { type: "prompt", text: "Then push.", isCut: false, by, holds: [] };
    faked.answers["list_queued_prompts"] = () => ({
      sessionId,
      version: length + 1,
      prompts: [{ ...turn, ...asked }],
    });
    report({ sessionUpdate: "prompt_queued", ...turn, text: asked.text });
    await page.locator(".waiting li").waitFor();
    await press();
    await focused(".waiting li");
    faked.answers["list_queued_prompts"] = () => ({ sessionId, version: length + 2, prompts: [] });
    report({ sessionUpdate: "prompt_dropped", ...turn, reason: "Removed.", cause: "removed" });
    await page.locator(".waiting li").waitFor({ state: "detached" });
  },
  async folds(press) {
    const open = page.locator(".log .fold-line[aria-expanded=true]");
    await press();
    await open.first().waitFor();
    await press();
    await open.first().waitFor({ state: "detached" });
  },
  async prompt(press) {
    await press();
    await page.getByText("Prompt 2: find the next cause").waitFor();
  },
  async follow(press) {
    await page.locator(".log").hover();
    await page.mouse.wheel(0, -2_000);
    await page.getByRole("button", { name: "To the end" }).waitFor();
    await press();
    await page.getByRole("button", { name: "To the end" }).waitFor({ state: "detached" });
  },
  async review(press) {
    await press();
    await at(`${here}/review`);
    await press();
    await at(here);
  },
  async panel(press) {
    const tabs = page.getByRole("tab");
    assert.equal(await tabs.count(), 3);
    await press();
    for (const [place, name] of ["changes", "terminal", "details"].entries()) {
      await page.keyboard.press(`Alt+Digit${place + 1}`);
      await page.waitForURL((url) => url.searchParams.get("panel") === name);
      assert.equal(await tabs.nth(place).getAttribute("aria-selected"), "true");
    }
  },
  async mode(press) {
    // The pickers are loaded after the first paint.
    await page.getByRole("button", { name: /^What the agent may do/ }).waitFor();
    for (let times = 0; times < 2; times++) {
      await press();
      await page.getByRole("menuitemradio", { name: /^Unattended/ }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("menu").waitFor({ state: "detached" });
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    }
  },
  async stop(press) {
    await press();
    assert.deepEqual(callsOf("abort_session"), [], "nothing runs");
    report(generatedEntry(1).update, "t11");
    await page.getByRole("button", { name: "Stop the turn" }).waitFor();
    const called = page.waitForRequest("**/actions/abort_session");
    await press();
    await called;
  },
  push: opensDialog("Push this session's commits"),
  fork: opensDialog("Fork this session"),
  async copy_address(press) {
    await press();
    await page.waitForFunction(
      async (wanted) => (await navigator.clipboard.readText()).endsWith(wanted),
      here,
    );
  },
  end_session: opensDialog("End this session?"),
  next_comment: leadsToRemark(2, 4),
  former_comment: leadsToRemark(4, 2),
  allow_once: answers("once"),
  allow_always: answers("always"),
  reject: answers("reject"),
  async reject_with_note(press) {
    await answers("reject")(press);
    await focused(".composer textarea");
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  },
  async choose(press) {
    const options = ["Half up", "Half even"].map((label) => ({ label, description: null }));
    await raise({
      type: "question",
      permission: null,
      questions: [{ question: "Which rounding?", options, multiple: false, freeText: false }],
    });
    await press();
    await page.getByRole("radio", { name: "Half even", checked: true }).waitFor();
    faked.answers["search_requests"] = () => ({ requests: [], nextCursor: null });
  },
};

/** As Playwright names the key. */
const pressed = (key: string): string =>
  key
    .replace("mod+", "Control+")
    .replace("alt+1-4", "Alt+Digit2")
    .replace("1-9", "2")
    .replace("enter", "Enter")
    .replace("end", "End");

async function press(id: ActId, key: string | undefined): Promise<void> {
  if (key !== undefined) {
    // Without a pause: the second of two keys counts for a moment only.
    await Promise.all(key.split(" ").map((part) => page.keyboard.press(pressed(part))));
    return;
  }
  // Acts without a key are in the palette.
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search or jump to" });
  const names = {
    copy_address: "Copy the address of this session",
    end_session: "End this session",
  };
  await palette.getByRole("option", { name: names[id as keyof typeof names] }).click();
}

for (const id of actIds) {
  const { keys } = acts[id];
  test(`7 Keyboard: ${id} with ${keys.join(" or ") || "the palette"}`, async () => {
    await open(here);
    for (const key of keys.length > 0 ? keys : [undefined]) {
      await proofs[id](() => press(id, key), key);
    }
  });
}
