// Waiting prompts in Chromium, with a service whose queue a test changes: what is shown, moved, edited, removed and sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserPage } from "@hawser/testkit/browser.ts";
import type { Queue } from "../src/features/session-log/queue.ts";
import type { Entry } from "../src/features/session-log/row.ts";
import { openFaked, sessionId, type FakedService } from "./faked-service.ts";

type Page = BrowserPage["page"];

const at = "2026-11-15T09:00:00.000Z";
const entry = (seq: number, turnId: string, update: Entry["update"]): Entry => ({
  seq,
  at,
  turnId,
  update,
});
const of = (messageId: string) => ({ messageId, turnId: `turn ${messageId}` });
const texts = ["Compare the two files.", "Write the numbers down.", "Then push."];
const ids = ["m1", "m2", "m3"];

interface Waiting extends FakedService {
  queue: Queue;
  /** Adds the entry of a change to the log. The queue has it too. */
  report: (update: Entry["update"], turnId?: string) => void;
}

/** A session whose turn runs, with prompts behind it. Its service changes the queue only when the test reports it. */
async function waiting(count: number, width = 1440): Promise<Waiting> {
  const log = [
    entry(1, "t0", { sessionUpdate: "turn_started", messageId: "m0", model: null, agent: null }),
    entry(2, "t0", {
      sessionUpdate: "user_message_chunk",
      messageId: "m0",
      content: { type: "text", text: "Port the report." },
    }),
    ...ids.slice(0, count).map((id, index) =>
      entry(3 + index, `turn ${id}`, {
        sessionUpdate: "prompt_queued",
        ...of(id),
        text: texts[index]!,
      }),
    ),
  ];
  const faked = await openFaked({ entryAt: (seq) => log[seq - 1]!, length: log.length, width });
  let seq = log.length;
  const queue: Queue = {
    sessionId,
    version: seq,
    prompts: ids.slice(0, count).map((id, index) => ({
      ...of(id),
      type: "prompt",
      text: texts[index]!,
      isCut: false,
      by: index === 1 ? { userId: "usr_2", name: "Jonas" } : { userId: "usr_1", name: "Mira" },
      holds: [],
    })),
  };
  for (const action of [
    "list_queued_prompts",
    "hold_queued_prompt",
    "update_queued_prompt",
    "move_queued_prompt",
    "remove_queued_prompt",
    "send_queued_prompt_now",
  ]) {
    faked.answers[action] = () => structuredClone(queue);
  }
  const report = (update: Entry["update"], turnId = "t0") => {
    seq += 1;
    queue.version = seq;
    faked.add(entry(seq, turnId, update));
  };
  await faked.open(`/sessions/${sessionId}`);
  await faked.page.locator(".log-row").first().waitFor();
  return { ...faked, queue, report };
}

const rows = (page: Page) => page.locator(".waiting li[data-message]");
const inputs = ({ calls }: FakedService, action: string) =>
  calls.filter((each) => each.action === action).map(({ input }) => input);
const open = async (page: Page) => {
  // Before the host has shown its queue nothing can be changed.
  await page.locator(".waiting").waitFor();
  await page.keyboard.press("q");
  await rows(page).first().locator(".acts").waitFor();
};

test("4.2.5 Waiting prompts: nothing while nothing waits, one row for one, one line for more, kept open", async () => {
  await using none = await waiting(0);
  await none.page.locator(".working").waitFor();
  assert.equal(await none.page.locator(".waiting").count(), 0);
  await using one = await waiting(1);
  await rows(one.page).waitFor();
  assert.equal(await one.page.locator(".waiting > .fold-line").count(), 0);
  await using faked = await waiting(3);
  const { page } = faked;
  const line = page.getByRole("button", { name: /3 prompts wait/ });
  await line.waitFor();
  assert.equal(await rows(page).count(), 0);
  await line.click();
  assert.deepEqual(await rows(page).locator("bdi").allTextContents(), texts);
  assert.match((await rows(page).nth(1).textContent())!, /Jonas/, "whose it is");
  assert.doesNotMatch((await rows(page).nth(0).textContent())!, /Mira/, "not for one's own");
  const acts = rows(page).nth(0).locator(".acts");
  assert.equal(await acts.evaluate((each) => getComputedStyle(each).opacity), "0");
  await rows(page).nth(0).focus();
  assert.equal(await acts.evaluate((each) => getComputedStyle(each).opacity), "1");
  await page.reload();
  await rows(page).first().waitFor();
  assert.deepEqual(faked.errors, []);
});

test("4.2.5 Waiting prompts: Alt and an arrow or a drag move one; the page waits for the host's queue", async () => {
  await using faked = await waiting(3);
  const { page, queue } = faked;
  await open(page);
  const shown = () => rows(page).locator("bdi").allTextContents();
  await page.keyboard.press("Alt+ArrowDown");
  await until(() => inputs(faked, "move_queued_prompt").length === 1);
  assert.deepEqual(inputs(faked, "move_queued_prompt"), [
    { sessionId, messageId: "m1", beforeMessageId: "m3" },
  ]);
  assert.deepEqual(await shown(), texts, "nothing moves before the host says so");
  queue.prompts = [queue.prompts[1]!, queue.prompts[0]!, queue.prompts[2]!];
  faked.report({ sessionUpdate: "prompt_moved", ...of("m1"), beforeMessageId: "m3" });
  await until(async () => (await shown())[0] === texts[1]);
  // The row that has the focus keeps it.
  assert.equal(
    await page.evaluate(() => document.activeElement?.getAttribute("data-message")),
    "m1",
  );
  await page.keyboard.press("Alt+ArrowUp");
  await page.getByText("Moved to 2 of 3").waitFor({ state: "attached" });
  const grip = rows(page).nth(2).locator(".grip");
  await rows(page).nth(2).hover();
  const from = (await grip.boundingBox())!;
  const to = (await rows(page).nth(0).boundingBox())!;
  await page.mouse.move(from.x + 8, from.y + 8);
  await page.mouse.down();
  await page.mouse.move(to.x + 20, to.y + 4, { steps: 4 });
  assert.equal(await rows(page).nth(0).getAttribute("data-drop"), "before");
  await page.mouse.up();
  await until(() => inputs(faked, "move_queued_prompt").length === 3);
  assert.deepEqual(inputs(faked, "move_queued_prompt")[2], {
    sessionId,
    messageId: "m3",
    beforeMessageId: "m2",
  });
  assert.deepEqual(faked.errors, []);
});

test("4.2.5 Waiting prompts: Send now says what it stops before it does it", async () => {
  await using faked = await waiting(2);
  const { page } = faked;
  await open(page);
  await page.keyboard.press("s");
  await page.getByText("Stops the running turn and runs this next.").waitFor();
  assert.deepEqual(inputs(faked, "send_queued_prompt_now"), []);
  await page.keyboard.press("Enter");
  await until(() => inputs(faked, "send_queued_prompt_now").length === 1);
  assert.equal(await rows(page).count(), 2, "it leaves the queue with its turn");
  faked.queue.prompts = faked.queue.prompts.slice(1);
  faked.report(
    { sessionUpdate: "turn_started", messageId: "m1", model: null, agent: null },
    "turn m1",
  );
  await until(async () => (await rows(page).count()) === 1);
  assert.deepEqual(faked.errors, []);
});

test("4.2.5 Waiting prompts: editing holds, and a text that was changed meanwhile is shown beside one's own", async () => {
  await using faked = await waiting(2);
  const { page, queue } = faked;
  await open(page);
  await page.keyboard.press("Enter");
  const field = page.getByRole("textbox", { name: "Text of the prompt" });
  assert.equal(await field.inputValue(), texts[0]);
  await page.getByText("Held while you edit").waitFor();
  await until(() => inputs(faked, "hold_queued_prompt").some(({ held }) => held === true));
  const version = queue.version;
  await field.fill("Mine.");
  const refusal = { code: "prompt_changed", message: "Changed.", retry: "changed" };
  faked.refusals["update_queued_prompt"] = refusal;
  queue.prompts[0]!.text = "Theirs.";
  faked.report({ sessionUpdate: "prompt_changed", ...of("m1"), text: "Theirs." });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Theirs.").waitFor();
  assert.equal(await field.inputValue(), "Mine.");
  assert.equal(inputs(faked, "update_queued_prompt")[0]!["version"], version);
  // The log has one's own text before the call is answered: it is nobody else's change.
  const changed = page.getByRole("alert").getByText("Theirs.");
  await field.fill("Theirs.");
  await changed.waitFor({ state: "detached" });
  await field.fill("Mine.");
  await changed.waitFor();
  delete faked.refusals["update_queued_prompt"];
  queue.prompts[0]!.text = "Mine.";
  await page.getByRole("button", { name: "Save my text instead" }).click();
  await field.waitFor({ state: "detached" });
  assert.deepEqual(inputs(faked, "update_queued_prompt")[1], {
    sessionId,
    messageId: "m1",
    text: "Mine.",
    version: version + 1,
  });
  // A hold of somebody else is shown with the name.
  queue.prompts[1]!.holds = [{ by: { userId: "usr_2", name: "Jonas" }, until: at }];
  faked.report({ sessionUpdate: "prompt_changed", ...of("m1"), text: "Mine." });
  await page.getByText("Held while Jonas edits").waitFor();
});

test("4.2.5 Waiting prompts: a text that was being edited is not lost when its prompt begins", async () => {
  await using faked = await waiting(1);
  const { page } = faked;
  await open(page);
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Text of the prompt" }).fill("Better.");
  faked.queue.prompts = [];
  faked.report(
    { sessionUpdate: "turn_started", messageId: "m1", model: null, agent: null },
    "turn m1",
  );
  await page.getByText("This prompt does not wait any more.").waitFor();
  await page.getByRole("button", { name: "Put into the composer" }).click();
  assert.equal(await page.locator(".composer textarea").inputValue(), "Better.");
});

test("4.2.5 Waiting prompts: a removed one goes into an empty composer, else it can be sent again", async () => {
  await using faked = await waiting(2);
  const { page } = faked;
  faked.answers["send_prompt"] = () => ({ sessionId, ...of("m9"), queued: true });
  const remove = (id: string) => {
    faked.queue.prompts = faked.queue.prompts.filter(({ messageId }) => messageId !== id);
    faked.report({
      sessionUpdate: "prompt_dropped",
      ...of(id),
      reason: "Removed.",
      cause: "removed",
    });
  };
  await open(page);
  await page.keyboard.press("Delete");
  await until(() => inputs(faked, "remove_queued_prompt").length === 1);
  assert.equal(await rows(page).count(), 2, "the row stays until the host says it has gone");
  remove("m1");
  const composer = page.locator(".composer textarea");
  await until(async () => (await composer.inputValue()) === texts[0]);
  await until(async () => (await rows(page).count()) === 1);
  await rows(page).first().focus();
  await page.keyboard.press("Delete");
  await until(() => inputs(faked, "remove_queued_prompt").length === 2);
  remove("m2");
  await page.getByRole("button", { name: "Undo" }).click();
  await until(() => inputs(faked, "send_prompt").length === 1);
  assert.equal(inputs(faked, "send_prompt")[0]!["text"], texts[1]);
  assert.equal(await composer.inputValue(), texts[0]);
});

test("4.2.5 Waiting prompts: on a phone they are one line, and what can be done is always in sight", async () => {
  await using faked = await waiting(3, 390);
  const { page } = faked;
  const line = page.getByRole("button", { name: /3 prompts wait/ });
  await line.waitFor();
  assert.ok((await page.locator(".waiting").boundingBox())!.height < 50);
  await line.click();
  const acts = rows(page).nth(1).locator(".acts");
  assert.equal(await acts.evaluate((each) => getComputedStyle(each).opacity), "1");
  for (const button of await acts.locator("button").all()) {
    const { width, height } = (await button.boundingBox())!;
    assert.ok(width >= 40 && height >= 40, `${width} × ${height}`);
  }
  assert.equal(
    await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    true,
  );
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadline) assert.fail(`not within 30 s: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
