// Sessions in Chromium with a real agent: a person opens a session, prompts it, reads the text as it is written, and
// answers what it asks. The connection breaks in the middle, and nothing is missing afterwards.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDashboard, type Dashboard } from "@hawser/testkit/dashboard.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

let world: World;
let instanceId: string;
before(async () => {
  world = await startWorld({ nodes: 1, hosts: 1, agents: true, named: true });
  ({ instanceId } = world.hosts[0]!);
});
after(() => world[Symbol.asyncDispose]());

/** A real agent on a busy machine takes long to start. */
const patienceMs = 90_000;

async function startSession(title: string): Promise<string> {
  const directory = world.hosts[0]!.repository;
  const deadline = performance.now() + 120_000;
  for (;;) {
    // The first start of opencode can take longer than a call waits.
    const started = await world.caller.try("start_session", { instanceId, directory, title });
    if (started.status === 200) return (started.body.result as { sessionId: string }).sessionId;
    assert.ok(performance.now() < deadline, started.text);
  }
}

/** A prompt with the answers of the scripted model. */
const scripted = (words: string, ...steps: object[]) => `${words} @@${JSON.stringify(steps)}`;
const bash = (command: string) => ({
  calls: [{ tool: "bash", input: { command, description: "a step" } }],
});

/** Runs in the page before its scripts: `cutStreams` breaks the open streams as a lost network does. */
function cuttableStreams(): void {
  const fetch = window.fetch.bind(window);
  const cuts: AbortController[] = [];
  window.fetch = (input, init) => {
    if (typeof input !== "string" || !input.includes("/events")) return fetch(input, init);
    const cut = new AbortController();
    cuts.push(cut);
    return fetch(input, { ...init, signal: AbortSignal.any([init!.signal!, cut.signal]) });
  };
  Object.assign(window, { cutStreams: () => cuts.forEach((cut) => cut.abort()) });
}

async function prompt({ page }: Dashboard, text: string): Promise<void> {
  const box = page.getByLabel("Message");
  await box.fill(text);
  await box.press("Enter");
}

test("4.2.12 First run: from the first page to the first answered prompt in three interactions", async () => {
  await using dashboard = await openDashboard(world, { role: "owner" });
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  let count = 0;
  const interact = async (act: () => Promise<unknown>) => {
    count += 1;
    await act();
  };
  await dashboard.open("/");
  await page.waitForURL("**/start");
  await page.getByRole("radio", { checked: true }).waitFor();
  const text = scripted("Run it.", bash("echo first > first.txt"), { text: "It ran first." });
  // What is typed goes to where the focus is.
  await interact(() => page.keyboard.insertText(text));
  await interact(() => page.getByRole("button", { name: /^Start/ }).click());
  await page.waitForURL("**/sessions/ses_*");
  await interact(() => page.getByRole("button", { name: "Allow once" }).click());
  await page.locator(".log").getByText("It ran first.", { exact: true }).waitFor();
  assert.equal(count, 3);
  await dashboard.open("/start");
  await page.waitForURL("**/sessions/ses_*");

  // The agent's own commands and choices, as this host offers them.
  await page.getByRole("button", { name: "Model: " }).click();
  await page.getByText("For this prompt and later ones.").waitFor();
  assert.ok((await page.getByRole("menuitemradio").count()) > 0);
  await page.keyboard.press("Escape");
  const box = page.getByLabel("Message");
  await box.fill("/");
  await page.getByRole("option", { name: /^\/init/ }).waitFor();
  await box.fill("");
  const shot = { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("A NOTE") };
  await page.locator("input[type=file]").setInputFiles(shot);
  await page.locator(".file").waitFor();
  await page.locator(".file progress").waitFor({ state: "detached" });
  await prompt(dashboard, scripted("Read it.", { text: "It is read." }));
  await page.locator(".log").getByText("It is read.", { exact: true }).waitFor();
  await box.fill("!echo from-the-shell");
  await box.press("Enter");
  await page.getByText("from-the-shell").last().waitFor();
  await page.getByRole("button", { name: "What the agent may do: Ask" }).click();
  await page.getByRole("menuitemradio", { name: "Unattended" }).click();
  await page.getByRole("button", { name: "What the agent may do: Unattended" }).waitFor();
  const sent = JSON.stringify(world.model!.requests.map(({ body }) => body));
  assert.match(sent, /A NOTE/);
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});

test("a person opens a session, prompts it, watches the text, and allows a command with a key", async () => {
  const sessionId = await startSession("Stop double payouts");
  await using dashboard = await openDashboard(world, { role: "member" });
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  await dashboard.open("/sessions");
  await page.locator(`main a[href$="${sessionId}"]`).click();
  await page.getByText("Nothing has happened here yet.").waitFor();
  const words = "One by one these words are written until all of them are here.";
  await prompt(dashboard, scripted("Find the bug.", { text: words, paceMs: 700 }));
  await page.locator(".prose.caret").getByText("One by").waitFor();
  assert.ok(!(await page.locator(".prose.caret").innerText()).includes("are here"), "it streams");
  await page.getByText("Working").waitFor();
  await page.getByText(words).waitFor();
  await page.getByText(/Turn 1 finished \d\d:\d\d/).waitFor();
  assert.equal(await page.locator(".caret").count(), 0);
  assert.equal(await page.locator(".said").count(), 1);

  await prompt(dashboard, scripted("Run it.", bash("echo ran > ran.txt"), { text: "It ran." }));
  const card = page.getByRole("region", { name: "Permission request" });
  await card.getByText("opencode wants to run a command").waitFor();
  await card.getByText("bash: echo ran > ran.txt").waitFor();
  await page
    .getByRole("link", { name: /Inbox 1 wait for an answer/ })
    .first()
    .waitFor();
  await page.keyboard.press("Escape");
  await page.waitForTimeout(600);
  await page.keyboard.press("y");
  // The end of the card is in reading.test.ts: it leaves after a moment.
  await page.locator(".log").getByText("It ran.", { exact: true }).waitFor();
  await page.getByText("Allowed once: echo ran > ran.txt").waitFor();
  await page.getByRole("button", { name: /Ran 1 command/ }).click();
  await page.locator(".calls").getByText("echo ran > ran.txt").waitFor();
  const { requests } = await world.caller.list_pending_requests({ sessionId });
  assert.deepEqual(requests, []);
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});

test("4.2.1 Comments on lines: a file that the agent writes is reviewed, and a comment on it arrives as a prompt", async () => {
  const sessionId = await startSession("Review what was written");
  await using dashboard = await openDashboard(world, { role: "member" });
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  await dashboard.open(`/sessions/${sessionId}`);
  const content = "export const retries = 3;\nexport const pause = 100;\n";
  const write = { calls: [{ tool: "write", input: { filePath: "retry.ts", content } }] };
  await prompt(dashboard, scripted("Write it.", write, { text: "It is written." }));
  await page.locator(".files-list button", { hasText: "retry.ts" }).waitFor();
  await page.locator(".letter.added").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Side by side" }).waitFor();
  // The worker runs under the content security policy of the service.
  await page.locator(".dl .k", { hasText: "export" }).first().waitFor();
  const number = page.getByRole("button", { name: "Line 2, new" });
  await number.focus();
  await page.keyboard.press("c");
  await page.keyboard.type("Too short.");
  await page.keyboard.press("Control+Enter");
  const tray = page.getByRole("region", { name: "Comments" });
  await tray.getByText("1 comment, not sent").waitFor();
  await page.getByText(/Turn 1 finished/).waitFor({ state: "attached" });
  await tray.getByRole("button", { name: "Send as one prompt" }).click();
  await page.getByText("Sent. It stands in the conversation.").waitFor();
  assert.equal(await page.locator(".remark").count(), 0);
  const text = "retry.ts:2 (new)\n```\nexport const pause = 100;\n```\nToo short.";
  await page
    .locator(".said:not(.pending)", { hasText: "Too short." })
    .waitFor({ state: "attached" });
  const { events } = await world.caller.list_session_events({ sessionId, limit: 500 });
  const prompts = events
    .filter(({ update }) => update["sessionUpdate"] === "user_message_chunk")
    .map(({ update }) => (update["content"] as { text: string }).text);
  assert.equal(prompts.at(-1), text);
  await page.keyboard.press("]");
  await page.locator(".said").getByRole("link", { name: "retry.ts:2 (new)" }).click();
  await page.waitForFunction(() => document.activeElement?.matches("button.n[data-line='2']"));
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});

test("a stream that is cut in the middle of a turn goes on, and the log is complete", async () => {
  const sessionId = await startSession("Cut in the middle");
  await using dashboard = await openDashboard(world, { role: "member" });
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  // Going offline breaks no connection that Chromium has.
  await page.addInitScript(cuttableStreams);
  await dashboard.open(`/sessions/${sessionId}`);
  const texts = ["alpha", "beta", "gamma"];
  const steps = texts.map((text) => ({
    ...bash(`echo ${text}`),
    text: `${text} `.repeat(8),
    paceMs: 60,
  }));
  await prompt(dashboard, scripted("Go on.", ...steps, { text: "omega" }));
  await page.locator(".prose").getByText("alpha alpha").waitFor();
  await page.context().setOffline(true);
  await page.evaluate(() => (window as unknown as { cutStreams: () => void }).cutStreams());
  for (let asked = 0; asked < texts.length;) {
    const { requests } = await world.caller.list_pending_requests({ sessionId });
    for (const { requestId } of requests) {
      await world.caller.answer_permission({ requestId, answer: "once" });
      asked++;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await page.getByText("The connection is lost. This is how it looked at").waitFor();
  await page.context().setOffline(false);
  await page.getByText("omega").waitFor();
  await page.getByText(/Turn 1 finished/).waitFor();
  const { events } = await world.caller.list_session_events({ sessionId, limit: 500 });
  const said = events.filter(({ update }) => update["sessionUpdate"] === "agent_message_chunk");
  const shown = await page.locator(".log-row .prose:not(.plain)").allInnerTexts();
  assert.deepEqual(
    shown.map((text) => text.trim()),
    said.map(({ update }) => (update["content"] as { text: string }).text.trim()),
  );
  assert.equal(await page.getByText("The connection is lost.").count(), 0);
});

test("stop drops what waits and offers it again; a session can be ended", async () => {
  const sessionId = await startSession("Stop and end");
  await using dashboard = await openDashboard(world, { role: "member" });
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  await dashboard.open(`/sessions/${sessionId}`);
  await prompt(
    dashboard,
    scripted("Slowly.", { text: "one two three four five six", paceMs: 3_000 }),
  );
  await page.getByRole("button", { name: "Stop the turn" }).waitFor();
  await prompt(dashboard, "And then this.");
  await page.locator(".waiting").getByText("And then this.").waitFor();
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await page.getByText("Stopped. 1 prompt was not sent.").waitFor();
  await page.locator(".dock").getByRole("button", { name: "Put back" }).click();
  assert.equal(await page.getByLabel("Message").inputValue(), "And then this.");
  await page.getByText(/Turn 1 was stopped/).waitFor();
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "End session" }).click();
  const dialog = page.getByRole("dialog", { name: "End this session?" });
  await dialog.getByText("The worktree and its branch are removed:").waitFor();
  await dialog.getByRole("button", { name: "End session" }).click();
  await page.getByText("It takes no more prompts.").waitFor();
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});

test("4.2.5 Waiting prompts: one is edited, put first and sent now; the other runs after it", async () => {
  const sessionId = await startSession("Queue");
  await using dashboard = await openDashboard(world, { role: "member" });
  const { page } = dashboard;
  page.setDefaultTimeout(patienceMs);
  await dashboard.open(`/sessions/${sessionId}`);
  await prompt(dashboard, scripted("Slowly.", { text: "one two three four", paceMs: 5_000 }));
  await page.getByRole("button", { name: "Stop the turn" }).waitFor();
  await prompt(dashboard, scripted("Compare.", { text: "Compared." }));
  await page.locator(".waiting").getByText("Compare.").waitFor();
  await prompt(dashboard, scripted("Push.", { text: "Pushed." }));
  await page.getByRole("button", { name: "2 prompts wait" }).click();
  const push = page.locator(".waiting li", { hasText: "Push." });
  await push.getByRole("button", { name: "Edit" }).click();
  const field = page.getByRole("textbox", { name: "Text of the prompt" });
  await field.fill(scripted("Commit.", { text: "Committed." }));
  await page.getByRole("button", { name: "Save" }).click();
  const commit = page.locator(".waiting li[tabindex]", { hasText: "Commit." });
  await commit.press("Alt+ArrowUp");
  await page.locator(".waiting li").first().getByText("Commit.").waitFor();
  await commit.press("s");
  await page.getByText("Stops the running turn and runs this next.").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Compared.", { exact: true }).waitFor();
  const { events } = await world.caller.list_session_events({ sessionId, limit: 500 });
  const run = events.flatMap(({ update }) =>
    update["sessionUpdate"] === "user_message_chunk"
      ? [(update["content"] as { text: string }).text.split(" @@")[0]]
      : [],
  );
  assert.deepEqual(run, ["Slowly.", "Commit.", "Compare."]);
  await page.getByText(/Turn 1 was stopped/).waitFor();
  assert.deepEqual([dashboard.violations, dashboard.errors], [[], []]);
});
