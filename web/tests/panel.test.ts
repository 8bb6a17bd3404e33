// The panel beside a conversation in Chromium: its tabs, its address, its keys, and what a phone makes of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const path = `/sessions/${sessionId}`;
const withDiff: typeof session = { ...session, capabilities: ["diff"] };

async function opened(where: string, width = 1440): Promise<FakedService> {
  const faked = await openFaked({ entryAt: generatedEntry, length: 300, width, record: withDiff });
  faked.answers.get_session_diff = () => ({
    files: [
      { path: "src/webhooks/handle-transfer.ts", added: 13, removed: 5 },
      { path: "migrations/0042_webhook_receipts.sql", added: 9, removed: 0 },
    ],
    truncated: false,
    live: true,
    takenAt: "2026-11-15T10:00:00.000Z",
  });
  await faked.open(where);
  await faked.page.locator(".log-row").first().waitFor();
  return faked;
}

const permission = {
  requestId: "req_1",
  type: "permission",
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: { title: "Run a command", detail: "npm test", alwaysRules: [] },
  questions: null,
  rule: null,
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: "2026-11-15T10:00:00.000Z",
  resolvedAt: null,
};

const tab = ({ page }: FakedService, name: string) => page.getByRole("tab", { name });

const place = (page: FakedService["page"]) =>
  page.evaluate(() => document.querySelector(".log")!.scrollTop);

/** Away from the end, until nothing moves any more. */
async function scrollUp({ page }: FakedService): Promise<void> {
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -2_000);
  await page.getByRole("button", { name: "To the end" }).waitFor();
  let before: number;
  do {
    before = await place(page);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  } while ((await place(page)) !== before);
}

test("4.1 Panel: its tab is in the address, and the keys are those of section 7", async () => {
  await using faked = await opened(path);
  const { page } = faked;
  await page.locator(".files-list").getByText("handle-transfer.ts").waitFor();
  assert.equal(await tab(faked, "Changes 2").getAttribute("aria-selected"), "true");
  await page.keyboard.press("Alt+Digit2");
  await page.getByText("/srv/payouts", { exact: true }).waitFor();
  assert.match(page.url(), /\?panel=details$/);
  await page.reload();
  await page.getByText("/srv/payouts", { exact: true }).waitFor();
  assert.equal(await tab(faked, "Details").getAttribute("aria-selected"), "true");

  await scrollUp(faked);
  const field = page.getByRole("textbox");
  await field.fill("kept]");
  assert.doesNotMatch(page.url(), /review/, "in a field the key is a character");
  await page.keyboard.press("Escape");
  const before = await place(page);
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Review" }).waitFor();
  assert.match(page.url(), /\/review\?panel=details$/);
  assert.equal(await field.isVisible(), false);
  await page.getByRole("button", { name: "Back to talk" }).click();
  await field.waitFor();
  assert.equal(await field.inputValue(), "kept]");
  assert.equal(await place(page), before, "the conversation is where it was");
});

test("9 Phone: the panels are the session's own tabs, and take the place of the bottom bar", async () => {
  await using faked = await opened(path, 390);
  const { page } = faked;
  assert.deepEqual(await page.getByRole("tab").allTextContents(), ["Talk", "Changes2", "Details"]);
  assert.equal(await page.locator(".bottom").isVisible(), false);
  await scrollUp(faked);
  const before = await place(page);
  await tab(faked, "Changes").click();
  await page.locator(".files-list").getByText("handle-transfer.ts").waitFor();
  assert.equal(await page.getByRole("textbox").isVisible(), false);
  await tab(faked, "Talk").click();
  await page.getByRole("textbox").waitFor();
  assert.doesNotMatch(page.url(), /panel=/);
  assert.equal(await place(page), before, "the conversation is where it was");
});

test("3.1 Panel: without the agent's changes there is no tab and no key for them", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length: 20 });
  await faked.open(path);
  await faked.page.getByText("/srv/payouts", { exact: true }).waitFor();
  assert.deepEqual(await faked.page.getByRole("tab").allTextContents(), ["Details"]);
  await faked.page.keyboard.press("]");
  assert.doesNotMatch(faked.page.url(), /review/);
  assert.ok(faked.calls.every(({ action }) => action !== "get_session_diff"));
});

test("3.1 Terminal, 4.2.9 Preview: what commands wrote in colours and nothing else, and one line to run another", async () => {
  await using faked = await openFaked({
    entryAt: generatedEntry,
    length: 40,
    record: { ...session, capabilities: ["shell"] },
  });
  const { page } = faked;
  faked.answers["run_shell"] = () => ({ sessionId, shellId: "shl_1" });
  faked.answers["list_session_ports"] = () => ({ ports: [{ port: 5173, program: "vite" }] });
  await faked.open(`${path}?panel=terminal`);
  await page.getByText("No shell command has been run here.").waitFor();
  const field = page.getByLabel("Run a command");
  await field.fill("npm test");
  await field.press("Enter");
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>(".run-line input")!.value === "",
  );
  const long = Array.from({ length: 5_000 }, (_, at) => `line ${at}`).join("\n");
  const output = `\u001b[31mred\u001b[0m\u001b[2J\n${long}\n<b>end</b>\n`;
  const update = { sessionUpdate: "shell", shellId: "shl_1", output, exitCode: 1, reason: null };
  faked.add({ ...generatedEntry(41), turnId: null, update });
  const shown = page.getByRole("group", { name: "Output of shell commands" });
  await shown.getByText("<b>end</b>").waitFor();
  assert.ok((await page.locator(".terminal-line").count()) < 200, "only what is in sight is drawn");
  await shown.evaluate((element) => {
    element.scrollTop = 0;
  });
  assert.equal(await shown.locator(".colour-1").textContent(), "red");
  await shown.getByText("npm test").waitFor();
  await shown.getByText("exit 1").waitFor();
  assert.deepEqual(
    faked.calls.filter(({ action }) => action === "run_shell").map(({ input }) => input),
    [{ sessionId, command: "npm test" }],
  );

  await page.keyboard.press("Alt+Digit2");
  await page.getByText("vite").waitFor();
  faked.answers["create_preview"] = () => ({
    url: "https://p1.preview.example/",
    username: "hawser",
    password: "secret-1",
    expiresAt: "2026-11-15T11:00:00.000Z",
  });
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Open the preview" }).click();
  await page.getByText("secret-1").waitFor();
  assert.deepEqual(
    faked.calls.filter(({ action }) => action === "create_preview").map(({ input }) => input),
    [{ sessionId, port: 5173, ttlMinutes: 60 }],
  );
});

test("3.1 Details, 4.1 Request card: a session with a worktree of its own does not run in the directory itself", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length: 20 });
  const { page } = faked;
  faked.answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? [permission] : [],
    nextCursor: null,
  });
  await faked.open(`${path}?panel=details`);
  const said = page.locator("dt", { hasText: "Runs in" }).locator("+ dd");
  await said.getByText("on builder-fra-2").nth(1).waitFor();
  for (const text of await said.allInnerTexts()) {
    assert.equal(text.trim(), "a worktree of /srv/payouts on builder-fra-2");
  }
  faked.answers["get_session_summary"] = () => ({ ...session, worktreeBranch: null, live: null });
  await faked.open("/inbox");
  await page.getByText("Runs in").waitFor();
  await said.getByText("on builder-fra-2").waitFor();
  assert.equal((await said.innerText()).trim(), "/srv/payouts on builder-fra-2");
});

test("3.1 Details, 4.1 Request card: what always has stored, and a rule that is forgotten", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length: 20 });
  const { page } = faked;
  const at = "2026-11-15T10:00:00.000Z";
  const stored = (rule: string, by: object | null) => ({ rule, by, at, uses: 2 });
  const mira = { userId: "usr_1", name: "Mira Okafor" };
  let rules = [stored("bash: npm test", mira), stored("bash: rm\u202Ex", null)];
  const listed = () => ({ sessionId, rules, truncated: false });
  faked.answers["list_session_rules"] = listed;
  faked.answers["forget_session_rule"] = ({ rule }) => {
    rules = rules.filter((each) => each.rule !== rule);
    return listed();
  };
  await faked.open(`${path}?panel=details`);
  const part = page.getByRole("region", { name: "Remembered in this session" });
  await part.getByText("Mira Okafor").waitFor();
  assert.deepEqual(await part.locator("code").allTextContents(), [
    "bash: npm test",
    "bash: rmU+202Ex",
  ]);
  await part.getByRole("button", { name: "Forget bash: npm test" }).click();
  await page.getByText("bash: npm test").waitFor({ state: "detached" });
  assert.deepEqual(
    faked.calls.filter(({ action }) => action === "forget_session_rule").map(({ input }) => input),
    [{ sessionId, rule: "bash: npm test" }],
  );
  // Somebody else forgets the other one.
  rules = [];
  const update = { sessionUpdate: "rule_forgotten", rule: "bash: rm", by: null };
  faked.add({ ...generatedEntry(21), turnId: null, update });
  await part.waitFor({ state: "detached" });
  await page.getByText("Forgotten, so it is asked again: bash: rm").waitFor();
});
