// Starting a session: what is chosen before the person chooses, what is sent, and what an error leaves. With a real
// agent it is in story.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { firstRun, host, kinds, repository } from "./first-run.ts";
import { generatedEntry } from "./generated-log.ts";

async function starting(path: string, width?: number): Promise<FakedService> {
  const faked = await openFaked({ entryAt: generatedEntry, length: 1, ...(width && { width }) });
  Object.assign(faked.answers, firstRun);
  await faked.open(path);
  return faked;
}

const inputsOf = ({ calls }: FakedService, name: string) =>
  calls.filter(({ action }) => action === name).map(({ input }) => input);
const box = ({ page }: FakedService) => page.getByRole("textbox", { name: "Prompt" });

test("3.1 /new: all but the prompt is chosen; Start leads to the session with the prompt pending", async () => {
  await using faked = await starting("/new");
  const { page } = faked;
  await page.getByRole("radio", { name: /one main/, checked: true }).waitFor();
  await page.getByText("Works in a worktree of its own").waitFor();
  assert.equal(await box(faked).evaluate((field) => field === document.activeElement), true);
  await box(faked).fill("Find the bug.");
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.waitForURL(`**/sessions/${sessionId}`);
  await page.locator(".said.pending").getByText("Find the bug.").waitFor();
  assert.deepEqual(inputsOf(faked, "start_session"), [
    { instanceId: "ins_1", directory: "/srv/ins_1/one" },
  ]);
  assert.deepEqual(inputsOf(faked, "send_prompt"), [{ sessionId, text: "Find the bug." }]);
  await page.goBack();
  await page.getByRole("button", { name: /^Start/ }).waitFor();
  assert.equal(await box(faked).inputValue(), "", "a text that was sent does not come back");
});

test("3.1 /new: host, directory, agent, model, mode and place are what the person chooses", async () => {
  await using faked = await starting("/new?instance=ins_2");
  const { page, answers } = faked;
  answers["set_session_mode"] = () => ({ ...session, mode: "auto" });
  answers["browse_directory"] = ({ path }) => ({
    directories: [repository(`${String(path)}/deep`)],
    truncated: false,
  });
  const pick = async (button: string | RegExp, item: string) => {
    await page.getByRole("button", { name: button }).click();
    await page
      .getByRole(/Elsewhere/.test(String(button)) ? "menuitem" : "menuitemradio", { name: item })
      .click();
  };
  await page.getByRole("button", { name: "Host: laptop" }).waitFor();
  await pick("Host: laptop", "builder");
  await page.getByRole("radio", { name: /two main/ }).click();
  await pick("Elsewhere", "Another directory");
  const dialog = page.getByRole("dialog", { name: "Choose a directory" });
  await dialog.getByRole("button", { name: "/srv" }).click();
  await dialog.getByRole("button", { name: "deep" }).click();
  await dialog.getByRole("button", { name: "Use this directory" }).click();
  await page.getByRole("radio", { name: /deep main/, checked: true }).waitFor();
  await page.getByRole("button", { name: "Use the checkout" }).click();
  await pick("Agent: opencode", "Codex");
  await pick("Model: the agent's default", "large");
  await pick("What the agent may do: Mode", "Auto");
  await box(faked).fill("Go.");
  await page.getByRole("button", { name: "Start Ctrl ↵" }).waitFor();
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(`**/sessions/${sessionId}`);
  assert.deepEqual(inputsOf(faked, "start_session"), [
    {
      instanceId: "ins_1",
      directory: "/srv/deep",
      useWorktree: false,
      agentKind: "codex",
      providerId: "anthropic",
      modelId: "large",
    },
  ]);
  assert.deepEqual(inputsOf(faked, "set_session_mode"), [{ sessionId, mode: "auto" }]);
});

test("a clone of a repository is made for the session", async () => {
  await using faked = await starting("/new");
  const { page, answers } = faked;
  answers["list_github_repos"] = () => ({ repositories: [], reason: "not_logged_in" });
  await page.getByRole("button", { name: "Elsewhere" }).click();
  await page.getByRole("menuitem", { name: "A new clone" }).click();
  await page.getByText("The host's client is not logged in").waitFor();
  await page.getByRole("combobox", { name: "Repository" }).fill("acme/widget");
  await page.keyboard.press("Enter");
  await page.getByText("A clone of acme/widget").waitFor();
  await box(faked).fill("Go.");
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.waitForURL(`**/sessions/${sessionId}`);
  assert.deepEqual(inputsOf(faked, "start_session"), [
    { instanceId: "ins_1", clone: { repo: "acme/widget" } },
  ]);
});

test("3.1 /new: errors say what happened, and the prompt stays; an unknown start keeps its key", async () => {
  await using faked = await starting("/new");
  const { page } = faked;
  let refusal: { code: string; message: string; retry: string; sessionId?: string };
  const keys: string[] = [];
  await page.route("**/api/rest/actions/start_session", (route) => {
    keys.push(route.request().headers()["idempotency-key"]!);
    return route.fulfill({ status: 409, json: { error: refusal } });
  });
  const press = () => page.getByRole("button", { name: /^Start/ }).click();
  const problem = page.getByRole("alert");
  await box(faked).fill("Find the bug.");
  await page.getByRole("radio", { checked: true }).waitFor();
  for (const [code, message, shown] of [
    ["agent_not_ready", "opencode is not logged in.", /opencode is not logged in\.\s*Open host/],
    ["host_offline", "x", /builder is not connected\. Choose another host/],
    ["account_not_yours", "Not yours.", /Not yours\./],
  ] as const) {
    refusal = { code, message, retry: "changed" };
    await press();
    await problem
      .getByText(shown)
      .or(problem.filter({ hasText: shown }))
      .first()
      .waitFor();
    assert.equal(await box(faked).inputValue(), "Find the bug.");
  }
  await page.getByRole("button", { name: "Use the checkout" }).click();
  const paths = "It has plugins of the agent: .opencode/plugin/evil.js.";
  refusal = { code: "project_config_present", message: paths, retry: "changed" };
  await press();
  await problem.getByText(paths).waitFor();
  await problem.getByRole("button", { name: "Use a worktree of its own" }).click();
  await page.getByText("Your checkout is not touched.").waitFor();
  const before = keys.length;
  assert.equal(new Set(keys).size, before, "a refused start is a new one the next time");
  refusal = { code: "in_progress", message: "Not known yet.", retry: "never", sessionId };
  await press();
  await problem.getByText("Nobody can tell yet whether builder started it.").waitFor();
  await problem.getByRole("link", { name: "Open the session" }).waitFor();
  await press();
  await page.waitForTimeout(100);
  assert.equal(new Set(keys.slice(before)).size, 1, "the same press, never a second session");
  assert.deepEqual(inputsOf(faked, "send_prompt"), []);
});

test("a mode that is not allowed: the session has started, nothing is sent, the text waits there", async () => {
  await using faked = await starting("/new");
  const { page } = faked;
  await page.route("**/api/rest/actions/set_session_mode", (route) =>
    route.fulfill({
      status: 409,
      json: { error: { code: "mode_not_allowed", message: "At most ask.", retry: "changed" } },
    }),
  );
  await box(faked).fill("Go.");
  await page.getByRole("button", { name: "What the agent may do: Mode" }).click();
  await page.getByRole("menuitemradio", { name: "Unattended" }).click();
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.getByText("At most ask.").waitFor();
  assert.deepEqual(inputsOf(faked, "send_prompt"), []);
  await page.getByRole("link", { name: "Open the session" }).click();
  await page.getByLabel("Message").waitFor();
  assert.equal(await page.getByLabel("Message").inputValue(), "Go.");
});

test("4.2.12 First run: the order of the page, whose login is used, and nothing is sent before Start", async () => {
  await using faked = await starting("/start");
  const { page, answers, calls } = faked;
  await page.getByText("1 provider: anthropic").waitFor();
  const sections = await page
    .locator(".start section")
    .evaluateAll((all) => all.map((section) => section.getAttribute("aria-label")));
  assert.deepEqual(sections, ["Where it works", "Agents", "Sign in on your phone"]);
  assert.equal(await box(faked).evaluate((field) => field === document.activeElement), true);
  const rows = await page.getByRole("region", { name: "Agents" }).locator(".line").allInnerTexts();
  assert.match(rows[0]!, /^opencode 1\.0\.0/);
  assert.match(rows[1]!, /^Codex 1\.0\.0\s+codex is not logged in\.\s+Open host/);
  // The page's address is one of this machine alone.
  await page.getByText("A phone cannot reach hawser.localhost").waitFor();
  assert.equal(await page.getByRole("button", { name: "Show link" }).count(), 0);
  assert.ok(calls.every(({ action }) => /^(?:list|search|get)_|^whoami$/.test(action)));
  answers["list_agent_kinds"] = () => ({
    agentKinds: kinds.map((each) => ({ ...each, authenticated: true, problems: [] })),
    live: true,
    takenAt: null,
  });
  answers["list_agent_identities"] = () => ({
    identities: [{ kind: "codex", account: "mira@tidewater.example", plan: "Max plan" }],
    live: true,
  });
  await faked.open("/start");
  await page.getByText("Your login is used, mira@tidewater.example, Max plan").waitFor();
});

test("4.2.12 First run: / leads to the inbox if something waits, else to the last session, else to /start", async () => {
  await using faked = await starting("/");
  const { page, answers } = faked;
  await page.waitForURL("**/start");
  answers["search_sessions"] = () => ({ sessions: [session], nextCursor: null, counts: null });
  await faked.open("/start");
  await page.waitForURL(`**/sessions/${sessionId}`);
  await faked.open("/");
  await page.waitForURL(`**/sessions/${sessionId}`);
  answers["search_requests"] = () => ({ requests: [{ answerable: true }], nextCursor: null });
  // What the inbox draws of it is not what this test is about.
  await faked.open("/");
  await page.waitForURL("**/inbox");
});

test("no host is online: it says so, and what is written is kept", async () => {
  await using faked = await starting("/new");
  const { page, answers } = faked;
  answers["search_instances"] = () => ({
    instances: [host("ins_1", "builder", "offline")],
    nextCursor: null,
  });
  await faked.open("/new");
  await page.getByText("No host is online").waitFor();
  await box(faked).fill("Later.");
  await page.waitForTimeout(500);
  await faked.open("/new");
  await page.getByText("No host is online").waitFor();
  assert.equal(await box(faked).inputValue(), "Later.");
});
