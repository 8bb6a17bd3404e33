// The steps of a session's story, each as a person does it on the pages.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestHost } from "@hawser/testkit/host.ts";
import { scripted } from "@hawser/testkit/scripted-steps.ts";
import { worktreeOf } from "@hawser/testkit/worktree-of.ts";
import { git, prompt, said, sessionIdOf, untilCardHears, type Stage } from "./story-stage.ts";

export interface Begun {
  host: TestHost;
  sessionId: string;
  /** The session's own worktree. */
  directory: string;
}

const committing = (words: string) =>
  `echo ${words} > first.txt && git add -A && git -c user.name=Ada -c user.email=ada@acme.example commit -qm First`;

/** From the sign-in page of an organization without hosts to the first answered prompt. */
export async function begin(stage: Stage): Promise<Begun> {
  const { dashboard, page, world, steps } = stage;
  let count = 0;
  const interact = async <T>(act: () => Promise<T>): Promise<T> => {
    count += 1;
    return act();
  };
  await page.context().clearCookies();
  await dashboard.open("/");
  await interact(() => page.getByLabel("Email").fill(dashboard.email));
  await interact(() => page.getByLabel("Password").fill(dashboard.password));
  await interact(() => page.getByRole("button", { name: "Sign in" }).click());
  await page.waitForURL("**/start");
  // Before the sign-in there was none.
  dashboard.errors.length = 0;
  await interact(() => page.getByRole("button", { name: "Pair a host" }).click());
  await interact(() => page.getByLabel("Name").fill("builder-fra-2"));
  await interact(() => page.getByRole("button", { name: "Make the command" }).click());
  const dialog = page.getByRole("dialog", { name: "Pair builder-fra-2" });
  await dialog.getByRole("img", { name: "No line yet" }).waitFor();
  await interact(() => dialog.getByRole("button", { name: "Copy" }).click());
  // The pages may write to the clipboard, and not read it.
  const install = await dialog.locator(".copy > span").innerText();
  const token = /hwp_\w+/.exec(install)![0];
  const host = await interact(() => stage.pair(token));
  await dialog.getByRole("img", { name: "Line taut" }).waitFor();
  await interact(() => dialog.getByRole("link", { name: "Start a session here" }).click());
  await page.waitForURL(`**/new?instance=${host.instanceId}`);
  await page.getByRole("radio", { checked: true }).waitFor();

  // A person who comes later finds the same: the field has the focus, and all else is chosen.
  await dashboard.open("/");
  await page.waitForURL("**/start");
  await page.getByRole("radio", { checked: true }).waitFor();
  const before = count;
  const command = steps.command(committing("once"));
  const text = scripted("Begin.", command, { text: "It ran first." });
  await interact(() => page.keyboard.insertText(text));
  await interact(() => page.getByRole("button", { name: /^Start/ }).click());
  await page.waitForURL("**/sessions/ses_*");
  const card = page.getByRole("region", { name: "Permission request" });
  await card
    .getByText(/^echo once/)
    .first()
    .waitFor();
  await untilCardHears(stage);
  await interact(() => card.getByRole("button", { name: "Allow once" }).click());
  await said(stage, "It ran first.");
  await page.getByText(/^Allowed once: echo once/).waitFor();
  await page.getByRole("button", { name: /Ran 1 command/ }).click();
  await page
    .locator(".calls")
    .getByText(/^echo once/)
    .waitFor();
  assert.deepEqual([count - before, count], [3, 12], "ui.md 3.1 and 4.2.12");
  const sessionId = sessionIdOf(stage);
  const { worktreeBranch } = await world.caller.get_session_summary({ sessionId });
  const directory = worktreeOf(host, worktreeBranch!);
  await dashboard.open("/start");
  await page.waitForURL(`**/sessions/${sessionId}`);
  return { host, sessionId, directory };
}

/** Text is shown while it is written; a question is answered with a key. */
export async function ask(stage: Stage): Promise<void> {
  const { page, steps } = stage;
  const words = "One by one these words are written until all of them are here.";
  const question = steps.question("Which colour?", ["Red", "Blue"]);
  await prompt(
    stage,
    "Ask me.",
    { text: words, paceMs: 400, ...question },
    { text: "Blue it is." },
  );
  await page.locator(".prose.caret").getByText("One by").waitFor();
  assert.ok(!(await page.locator(".prose.caret").innerText()).includes("are here"), "it streams");
  const card = page.getByRole("region", { name: "Question" });
  await card.getByText("Which colour?").first().waitFor();
  await page
    .getByRole("link", { name: /Inbox 1 wait for an answer/ })
    .first()
    .waitFor();
  await page.keyboard.press("Escape");
  await untilCardHears(stage);
  await page.keyboard.press("2");
  await card.getByRole("radio", { name: "Blue", checked: true }).waitFor();
  await card.getByRole("button", { name: "Answer" }).click();
  await said(stage, "Blue it is.");
  await page.getByText(/Turn 2 finished \d\d:\d\d/).waitFor();
  assert.equal(await page.locator(".caret").count(), 0);
}

/** A file is seen side by side, and a comment on one of its lines arrives as a prompt. */
export async function review(stage: Stage, { sessionId, directory }: Begun): Promise<void> {
  const { page, steps, world } = stage;
  const content = "export const retries = 3;\nexport const pause = 100;\n";
  const write = steps.write(join(directory, "retry.ts"), content);
  await prompt(stage, "Write it.", write, { text: "It is written." });
  await said(stage, "It is written.");
  await page.locator(".files-list button", { hasText: "retry.ts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Side by side" }).waitFor();
  // The worker runs under the content security policy of the service.
  await page.locator(".dl .k", { hasText: "export" }).first().waitFor();
  await page.getByRole("button", { name: "Line 2, new" }).focus();
  await page.keyboard.press("c");
  await page.keyboard.type("Too short.");
  await page.keyboard.press("Control+Enter");
  const tray = page.getByRole("region", { name: "Comments" });
  await tray.getByText("1 comment, not sent").waitFor();
  await page.getByText(/Turn 3 finished/).waitFor({ state: "attached" });
  await tray.getByRole("button", { name: "Send as one prompt" }).click();
  await page.getByText("Sent. It stands in the conversation.").waitFor();
  assert.equal(await page.locator(".remark").count(), 0);
  await page
    .locator(".said:not(.pending)", { hasText: "Too short." })
    .waitFor({ state: "attached" });
  const { events } = await world.caller.list_session_events({ sessionId, limit: 500 });
  const prompts = events
    .filter(({ update }) => update["sessionUpdate"] === "user_message_chunk")
    .map(({ update }) => (update["content"] as { text: string }).text);
  const text = "retry.ts:2 (new)\n```\nexport const pause = 100;\n```\nToo short.";
  assert.equal(prompts.at(-1), text);
  await page.keyboard.press("]");
  await page.locator(".said").getByRole("link", { name: "retry.ts:2 (new)" }).click();
  await page.waitForFunction(() => document.activeElement?.matches("button.n[data-line='2']"));
  await page.keyboard.press("]");
  await page.getByText(/Turn 4 finished/).waitFor();
}

/** What the field offers: models, commands, files, the shell and modes, as far as the agent has them. */
export async function choose(stage: Stage, capabilities: readonly string[]): Promise<void> {
  const { page, world } = stage;
  await page.getByRole("button", { name: "Model: " }).click();
  await page.getByText("For this prompt and later ones.").waitFor();
  assert.ok((await page.getByRole("menuitemradio").count()) > 0);
  await page.keyboard.press("Escape");
  const box = page.getByLabel("Message");
  if (capabilities.includes("commands")) {
    await box.fill("/");
    await page.getByRole("option").first().waitFor();
    await box.fill("");
  }
  const note = { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("A NOTE") };
  await page.locator("input[type=file]").setInputFiles(note);
  await page.locator(".file").waitFor();
  await page.locator(".file progress").waitFor({ state: "detached" });
  await prompt(stage, "Read it.", { text: "It is read." });
  await said(stage, "It is read.");
  const sent = JSON.stringify(world.model!.requests.map(({ body }) => body));
  assert.match(sent, /A NOTE|QSBOT1RF/);
  if (capabilities.includes("shell")) {
    await box.fill("!echo from-the-shell");
    await box.press("Enter");
    await page.getByText("from-the-shell").last().waitFor();
  }
  await page.getByRole("button", { name: "What the agent may do: Ask" }).click();
  await page.getByRole("menuitemradio", { name: "Unattended" }).click();
  await page.getByRole("button", { name: "What the agent may do: Unattended" }).click();
  await page.getByRole("menuitemradio", { name: /^Ask/ }).click();
  await page.getByRole("button", { name: "What the agent may do: Ask" }).waitFor();
}

/** The agent and the files go back to before a prompt, if the agent can. */
export async function goBack(
  stage: Stage,
  { directory }: Begun,
  capabilities: readonly string[],
): Promise<void> {
  const { page, steps } = stage;
  const file = join(directory, "second.md");
  await prompt(stage, "On second thoughts.", steps.write(file, "a second thought\n"), {
    text: "Written down.",
  });
  await said(stage, "Written down.");
  assert.ok(existsSync(file));
  const own = page.locator(".said", { hasText: "On second thoughts." });
  await page.getByRole("button", { name: "Stop the turn" }).waitFor({ state: "detached" });
  await own.getByRole("button", { name: "Prompt actions" }).click();
  await page.getByRole("menuitem", { name: "Copy link" }).waitFor();
  const back = page.getByRole("menuitem", { name: "Go back to before this" });
  if (!capabilities.includes("revert")) {
    assert.equal(await back.count(), 0);
    await page.keyboard.press("Escape");
    return;
  }
  await back.click();
  await page.getByRole("dialog").getByRole("button", { name: "Go back" }).click();
  await page.getByText("Taken back to before this prompt").waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(!existsSync(file));
}

/** Prompts that wait: one is edited, put first and sent now; stopping drops the rest, and offers it again. */
export async function queue(stage: Stage, { sessionId }: Begun): Promise<void> {
  const { page, world } = stage;
  const slowly = { text: "one two three four five six seven eight", paceMs: 5_000 };
  await prompt(stage, "Slowly.", slowly);
  await page.getByRole("button", { name: "Stop the turn" }).waitFor();
  await prompt(stage, "Compare.", { text: "Compared." }, slowly);
  await page.locator(".waiting").getByText("Compare.").waitFor();
  await prompt(stage, "Push.", { text: "Pushed." });
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
  await said(stage, "Compared.");
  const { events } = await world.caller.list_session_events({ sessionId, limit: 500 });
  const run = events.flatMap(({ update }) =>
    update["sessionUpdate"] === "user_message_chunk"
      ? [(update["content"] as { text: string }).text.split(" @@")[0]]
      : [],
  );
  assert.deepEqual(run.slice(-3), ["Slowly.", "Commit.", "Compare."]);
  await page.getByText(/Turn \d+ was stopped/).waitFor();

  await prompt(stage, "Slowly again.", slowly);
  await page.getByRole("button", { name: "Stop the turn" }).waitFor();
  await prompt(stage, "And then this.");
  await page.locator(".waiting").getByText("And then this.").waitFor();
  await page.getByRole("button", { name: "Stop the turn" }).click();
  await page.getByText("Stopped. 1 prompt was not sent.").waitFor();
  await page.locator(".dock").getByRole("button", { name: "Put back" }).click();
  assert.equal(await page.getByLabel("Message").inputValue(), "And then this.");
  await page.getByLabel("Message").fill("");
  await page.getByText("Slowly again.").waitFor();
  await page
    .getByText(/Turn \d+ was stopped/)
    .nth(1)
    .waitFor();
}

/** The commits become a pull request. */
export async function push(stage: Stage, { sessionId }: Begun): Promise<void> {
  const { page, github, world } = stage;
  await page.getByLabel("Message").press("Escape");
  await page.keyboard.press("p");
  const dialog = page.getByRole("dialog", { name: "Push this session's commits" });
  await dialog.getByText("1 commit, 1 not pushed").waitFor();
  await dialog.getByRole("button", { name: "Push and open PR" }).click();
  const done = page.getByRole("dialog", { name: "Pull request opened" });
  await done.getByRole("link", { name: "github.com" }).waitFor();
  await page.keyboard.press("Escape");
  await done.waitFor({ state: "detached" });
  const [made] = github.pullRequests;
  const link = page.getByRole("link", { name: "Pull request" });
  assert.equal(await link.getAttribute("href"), made!.url);
  const { worktreeBranch } = await world.caller.get_session_summary({ sessionId });
  assert.equal(made!.head, worktreeBranch);
}

/** The session ends, and its files are brought back in a new one. */
export async function endAndRestore(stage: Stage, begun: Begun): Promise<void> {
  const { page, world } = stage;
  const { host, sessionId, directory } = begun;
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "End session" }).click();
  const dialog = page.getByRole("dialog", { name: "End this session?" });
  await dialog.getByText("The worktree and its branch are removed:").waitFor();
  await dialog.getByRole("button", { name: "End session" }).click();
  await page.getByText("It takes no more prompts.").waitFor();
  assert.ok(!existsSync(directory));
  await page.getByRole("tab", { name: "Details" }).click();
  await page.getByRole("button", { name: "Restore in a new session" }).click();
  await page.waitForURL((url) => !url.pathname.includes(sessionId));
  const restored = await world.caller.get_session_summary({ sessionId: sessionIdOf(stage) });
  const place = worktreeOf(host, restored.worktreeBranch!);
  assert.equal(readFileSync(join(place, "first.txt"), "utf8"), "once\n");
  assert.equal(git(place, "log", "-1", "--format=%s"), "First");
  await prompt(stage, "Back again.", { text: "Here I am." });
  await said(stage, "Here I am.");
}
