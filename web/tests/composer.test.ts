// What the composer sends, and what stays in it: modes, models, commands, the shell, files, refusals.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const path = `/sessions/${sessionId}`;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const greet = { name: "greet", description: "Greets somebody.", takesArguments: true };
const model = { providerId: "anthropic", modelId: "claude-sonnet-4-5" };

async function composing(): Promise<FakedService> {
  const faked = await openFaked({
    entryAt: generatedEntry,
    length: 40,
    record: { ...session, capabilities: ["commands", "shell"] },
  });
  const accepted = { sessionId, turnId: "t9", messageId: "own", queued: false };
  Object.assign(faked.answers, {
    send_prompt: () => accepted,
    run_command: () => accepted,
    run_shell: () => ({ sessionId, shellId: "s1" }),
    list_session_commands: () => ({ commands: [{ ...greet, name: "compact" }, greet] }),
    list_models: () => ({
      agentKind: "claude_code",
      providers: [
        {
          providerId: "anthropic",
          models: [{ modelId: model.modelId, variants: ["low", "high"] }],
        },
      ],
      defaultModel: model,
    }),
    list_agent_kinds: () => ({
      agentKinds: [
        {
          kind: "claude_code",
          options: [{ id: "effort", name: "Effort", values: ["low", "high"], default: null }],
          variants: [{ ...model, variants: ["low", "high"] }],
          modes: ["default", "plan"],
        },
      ],
      live: true,
      takenAt: null,
    }),
  });
  await faked.open(path);
  await faked.page.locator(".log-row").first().waitFor();
  await faked.page.getByRole("button", { name: "What the agent may do: Ask" }).waitFor();
  return faked;
}

const inputsOf = ({ calls }: FakedService, name: string) =>
  calls.filter(({ action }) => action === name).map(({ input }) => input);

/** Answers an action with a refusal. */
async function refuse({ page }: FakedService, action: string, code: string, message: string) {
  await page.route(`**/api/rest/actions/${action}`, (route) =>
    route.fulfill({ status: 409, json: { error: { code, message, retry: "changed" } } }),
  );
}

/** Answers uploads; returns their names and types. */
async function takeFiles({ page }: FakedService) {
  const taken: (string | null)[] = [];
  await page.route("**/api/files*", async (route) => {
    const request = route.request();
    assert.equal(request.headers()["content-type"], "application/octet-stream");
    assert.equal(request.headers()["x-hawser-organization"], "org_1");
    taken.push(new URL(request.url()).searchParams.get("filename"));
    await route.fulfill({ status: 201, json: { fileId: `fil_${taken.length}`, size: 1 } });
  });
  return taken;
}

test("4.2.11 Modes: one word behind the shield; changing asks the host, and the host's limit is said", async () => {
  await using faked = await composing();
  const { page, answers } = faked;
  answers["set_session_mode"] = () => ({ ...session, mode: "auto" });
  const choose = async (mode: string) => {
    await page.getByRole("button", { name: "What the agent may do: Ask" }).click();
    await page.getByRole("menuitemradio", { name: mode }).click();
  };
  await choose("Auto");
  await assertSoon(() => inputsOf(faked, "set_session_mode").length === 1);
  assert.deepEqual(inputsOf(faked, "set_session_mode"), [{ sessionId, mode: "auto" }]);
  // Not drawn until the record says so.
  await page.getByRole("button", { name: "What the agent may do: Ask" }).waitFor();
  const limit = "The host's policy file allows at most the mode auto.";
  await refuse(faked, "set_session_mode", "mode_not_allowed", limit);
  await choose("Unattended");
  await page.locator(".composer .problem").getByText(limit).waitFor();
});

test("4.2.11 Modes: a mode above the organization's limit is not offered, and the foot says why", async () => {
  await using faked = await composing();
  const { page, answers } = faked;
  answers["whoami"] = () => ({ permissions: ["sessions:view", "sessions:edit", "access:view"] });
  answers["get_settings"] = () => ({ defaultMode: "ask", highestMode: "auto" });
  await faked.open(path);
  await page.getByRole("button", { name: "What the agent may do: Ask" }).click();
  await page.getByText("Your organization allows up to Auto.").waitFor();
  assert.equal(await page.getByRole("menuitemradio").count(), 2);
});

test("4.1 Composer: a model and options hold for later prompts, an agent for one; menus ask when they are opened", async () => {
  await using faked = await composing();
  const { page } = faked;
  assert.deepEqual([...inputsOf(faked, "list_models"), ...inputsOf(faked, "list_agent_kinds")], []);
  await page.getByRole("button", { name: "Model: the agent's default" }).click();
  await page.getByText("For this prompt and later ones.").waitFor();
  await page.getByRole("menuitemradio", { name: model.modelId }).click();
  const pick = async (name: string) => {
    await page.getByRole("button", { name: "Options of the model" }).click();
    await page.getByRole("menuitemradio", { name }).click();
  };
  await pick("high");
  await pick("plan");
  const box = page.getByLabel("Message");
  await box.fill("one");
  await box.press("Enter");
  await box.fill("two");
  await box.press("Enter");
  await assertSoon(() => inputsOf(faked, "send_prompt").length === 2);
  const named = { model: { providerID: model.providerId, modelID: model.modelId } };
  const options = { options: { effort: "high" } };
  assert.deepEqual(inputsOf(faked, "send_prompt"), [
    { sessionId, text: "one", ...named, ...options, agent: "plan" },
    { sessionId, text: "two" },
  ]);
});

test("4.1 Composer: / opens the agent's commands, ! runs the shell, and a path is a prompt", async () => {
  await using faked = await composing();
  const { page } = faked;
  const box = page.getByLabel("Message");
  await box.fill("/");
  await page.getByRole("option").nth(1).waitFor();
  await box.press("ArrowDown");
  assert.equal(
    await page.getByRole("option", { selected: true }).innerText(),
    "/greet\nGreets somebody.",
  );
  await box.fill("/gre");
  await page.getByRole("option", { name: "/greet" }).waitFor();
  await box.press("Enter");
  assert.equal(await box.inputValue(), "/greet ");
  await box.pressSequentially("Ada Lovelace");
  await box.press("Enter");
  await assertSoon(() => inputsOf(faked, "run_command").length === 1);
  assert.deepEqual(inputsOf(faked, "run_command"), [
    { sessionId, command: "greet", arguments: "Ada Lovelace" },
  ]);
  await box.fill("/usr/bin/env is wrong");
  await box.press("Enter");
  await assertSoon(() => inputsOf(faked, "send_prompt").length === 1);
  const gate = Promise.withResolvers<void>();
  await page.route("**/actions/run_shell", async (route) => {
    await gate.promise;
    await route.fallback();
  });
  await box.fill("! git status");
  await page.getByText("Runs in the shell, without the agent").waitFor();
  await box.press("Enter");
  await box.fill("Typed while the host is asked.");
  gate.resolve();
  await assertSoon(() => inputsOf(faked, "run_shell").length === 1);
  assert.deepEqual(inputsOf(faked, "run_shell"), [{ sessionId, command: "git status" }]);
  await page.getByRole("button", { name: "Send", exact: true, disabled: false }).waitFor();
  assert.equal(await box.inputValue(), "Typed while the host is asked.");
  await box.fill("! git status");
  await box.press("Enter");
  await assertSoon(async () => (await box.inputValue()) === "");
  await box.press("ArrowUp");
  assert.equal(await box.inputValue(), "/usr/bin/env is wrong", "Up brings the last prompt");
  assert.equal(inputsOf(faked, "send_prompt").length, 1);
});

test("4.1 Composer: a refusal stays on the composer with the text, its files and its choices", async () => {
  await using faked = await composing();
  const { page } = faked;
  await takeFiles(faked);
  const box = page.getByLabel("Message");
  const problem = page.locator(".composer .problem");
  await page
    .locator("input[type=file]")
    .setInputFiles({ name: "a.png", mimeType: "", buffer: png });
  await page.locator(".file img").waitFor();
  for (const [code, message, shown] of [
    ["queue_full", "x", "20 prompts wait already."],
    ["agent_not_ready", "claude_code is not logged in.", "claude_code is not logged in. Open host"],
    [
      "project_config_present",
      "Remove .opencode/plugin/evil.js.",
      "Remove .opencode/plugin/evil.js.",
    ],
    ["host_offline", "x", "The host is offline"],
    ["session_ended", "The session has ended.", "The session has ended."],
  ] as const) {
    await refuse(faked, "send_prompt", code, message);
    await box.fill(`about ${code}`);
    await box.press("Enter");
    await problem.getByText(shown, { exact: false }).first().waitFor();
    assert.equal(await box.inputValue(), `about ${code}`);
    assert.equal(await page.locator(".said.pending").count(), 0);
    assert.equal(await page.locator(".file").count(), 1);
  }
});

test("4.2.7 Images: uploaded at once, shown by their first bytes, checked before; a long paste is a file", async () => {
  await using faked = await composing();
  const { page } = faked;
  const taken = await takeFiles(faked);
  const files = page.locator("input[type=file]");
  const svg = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
  await files.setInputFiles([
    { name: "shot.png", mimeType: "image/png", buffer: png },
    { name: "evil.png", mimeType: "image/png", buffer: svg },
  ]);
  await page.locator(".file").nth(1).waitFor();
  const picture = page.locator(".file img");
  assert.equal(await picture.count(), 1, "only what is a picture by its bytes");
  assert.match((await picture.getAttribute("src"))!, /^blob:/);
  await files.setInputFiles({
    name: "big.bin",
    mimeType: "",
    buffer: Buffer.alloc(16 * 1024 ** 2 + 1),
  });
  await page.getByText("big.bin is larger than 16 MiB.").waitFor();
  const box = page.getByLabel("Message");
  await box.focus();
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "x".repeat(8_001));
    const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement!.dispatchEvent(paste);
  });
  await page.locator(".file").getByText("pasted.txt").waitFor();
  assert.equal(await box.inputValue(), "");
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["dropped"], "notes.md", { type: "text/markdown" }));
    const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector(".log")!.dispatchEvent(drop);
  });
  await page.locator(".file").getByText("notes.md").waitFor();
  await page.getByRole("button", { name: "Remove evil.png" }).click();
  await assertSoon(() => taken.length === 4);
  await page.locator(".file progress").first().waitFor({ state: "detached" });
  // A draft has its files, also in the next page.
  await box.fill("What is wrong here?");
  await page.waitForTimeout(500);
  await faked.open(path);
  await page.locator(".file").nth(2).waitFor();
  await page.getByLabel("Message").press("Enter");
  await assertSoon(() => inputsOf(faked, "send_prompt").length === 1);
  const [sent] = inputsOf(faked, "send_prompt");
  assert.deepEqual(sent!["attachments"], [
    { fileId: "fil_1", filename: "shot.png", mime: "image/png" },
    { fileId: "fil_3", filename: "pasted.txt", mime: "text/plain" },
    { fileId: "fil_4", filename: "notes.md", mime: "text/markdown" },
  ]);
  await page.locator(".file").first().waitFor({ state: "detached" });
  assert.deepEqual(faked.errors, []);
});

/** Until it holds. */
async function assertSoon(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, "It does not hold.");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("4.1 Composer: a ring shows how full the context is, and from 80 % on it offers to summarize", async () => {
  await using faked = await composing();
  const { page } = faked;
  assert.equal(await page.locator(".ring").count(), 0, "nothing without a figure");
  let seq = 40;
  const add = (update: Parameters<FakedService["add"]>[0]["update"]) =>
    faked.add({ ...generatedEntry(++seq), turnId: null, update });
  const use = (usedTokens: number) =>
    add({
      sessionUpdate: "usage_update",
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
      costUsd: 1.84,
      costIsEstimate: false,
      context: { usedTokens, windowTokens: 200_000 },
    });
  const ring = (label: string) => page.getByRole("img", { name: label });
  use(84_000);
  await ring("Context 42 % full: 84,000 of 200,000 tokens").waitFor();
  assert.equal(await page.getByRole("button", { name: "Summarize" }).count(), 0);
  use(161_000);
  await ring("Context 81 % full: 161,000 of 200,000 tokens").waitFor();
  await page.getByRole("button", { name: "Summarize" }).click();
  await assertSoon(() => inputsOf(faked, "run_command").length === 1);
  assert.deepEqual(inputsOf(faked, "run_command"), [{ sessionId, command: "compact" }]);
  add({ sessionUpdate: "session_compacted" });
  await page.locator(".ring").waitFor({ state: "detached" });
});

test("5 Signed out elsewhere: a page whose sign-in has ended says so, and follows the session again after signing in", async () => {
  await using faked = await composing();
  const { page } = faked;
  await page.getByLabel("Message").fill("kept");
  faked.endSignIn();
  const foot = page.locator(".side-foot");
  const dialog = page.getByRole("dialog", { name: "You are signed out" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await foot.getByText("You are signed out").waitFor();
  await foot.getByRole("button", { name: "Sign in" }).click();
  await dialog.getByLabel("Password").fill("correct horse battery");
  await dialog.getByRole("button", { name: "Sign in" }).click();
  faked.add({
    ...generatedEntry(3),
    seq: 41,
    update: { ...generatedEntry(3).update, content: { type: "text", text: "After signing in." } },
  });
  await page.getByText("After signing in.").waitFor();
  assert.equal(await page.getByLabel("Message").inputValue(), "kept");
});

test("7 Keyboard: Esc twice stops the turn from anywhere on the page, and not while it leaves another field", async () => {
  await using faked = await composing();
  const { page, answers } = faked;
  answers["abort_session"] = () => ({ sessionId, aborted: true, droppedPrompts: 0 });
  faked.add({ ...generatedEntry(1), seq: 41, turnId: "t2" });
  await page.getByRole("button", { name: "Stop the turn" }).waitFor();
  const escapeTwice = async () => {
    for (let time = 0; time < 2; time++) await page.keyboard.press("Escape");
  };
  await page.keyboard.press("Control+f");
  await page.locator("input").first().waitFor();
  await page.keyboard.press("Escape");
  await page.waitForTimeout(700);
  assert.equal(inputsOf(faked, "abort_session").length, 0);
  await page.locator(".log").click();
  await escapeTwice();
  await assertSoon(() => inputsOf(faked, "abort_session").length === 1);
});
