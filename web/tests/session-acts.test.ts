// What can be done with a session from its page in Chromium: pushing, ending, going back, forking. What the host makes
// of it is proved in acceptance/scenarios/push.test.ts and its neighbours.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, session, sessionId, type FakedService } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const pullRequestUrl = "https://github.com/acme/widget/pull/7";
const compareUrl = "https://github.com/acme/widget/compare/hawser/stop?expand=1";
const git = {
  branch: "hawser/stop-double-payouts",
  base: null,
  commits: 2,
  unpushedCommits: 1,
  uncommittedFiles: 3,
  pullRequestUrl: null as string | null,
  live: true,
  takenAt: "2026-11-15T10:00:00.000Z",
};

async function opened(record: Partial<typeof session> = {}, width = 1440) {
  const faked = await openFaked({
    entryAt: generatedEntry,
    // Ends with the end of a turn, so that nothing runs.
    length: 40,
    width,
    record: { ...session, capabilities: ["fork", "revert", "summarize"], ...record },
  });
  faked.answers["get_session_git"] = () => git;
  faked.answers["search_instances"] = () => ({
    instances: [
      {
        instanceId: "ins_1",
        name: "builder-fra-2",
        status: "online",
        statusReason: null,
        agents: [{ kind: "claude_code", installed: true, ready: true, problems: [] }],
      },
    ],
    nextCursor: null,
  });
  await faked.open(`/sessions/${sessionId}`);
  await faked.page.locator(".log-row").first().waitFor();
  return faked;
}

/** Of the first prompt, which is above what is in sight. */
async function openPromptMenu(page: FakedService["page"]): Promise<void> {
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -10_000);
  await page.getByRole("button", { name: "Prompt actions" }).first().click();
}

const callsOf = ({ calls }: FakedService, wanted: string) =>
  calls.filter(({ action }) => action === wanted).map(({ input }) => input);

test("4.1 Push: what goes and what stays, then the button is the pull request", async () => {
  await using faked = await opened();
  const { page } = faked;
  await page.getByRole("button", { name: "Push and open PR" }).waitFor();
  await page.keyboard.press("p");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("2 commits, 1 not pushed").waitFor();
  await dialog.getByText("3 files have uncommitted changes, which stay here.").waitFor();
  await dialog.getByText("hawser/stop-double-payouts").waitFor();
  faked.answers["push_session"] = () => ({
    sessionId,
    branch: git.branch,
    uncommittedChanges: 3,
    pullRequestUrl,
    pullRequestError: null,
    pullRequestMessage: null,
    compareUrl,
  });
  faked.answers["get_session_git"] = () => ({ ...git, unpushedCommits: 0, pullRequestUrl });
  await dialog.getByLabel("Text of the pull request").fill("Closes PAY-1182.");
  await dialog.getByRole("button", { name: "Push and open PR" }).click();
  await page.getByText("Pull request opened").waitFor();
  assert.deepEqual(callsOf(faked, "push_session"), [
    { sessionId, title: session.title, body: "Closes PAY-1182." },
  ]);
  await dialog.getByRole("button", { name: "Close" }).last().click();
  const link = page.getByRole("link", { name: "Pull request" });
  assert.equal(await link.getAttribute("href"), pullRequestUrl);
  assert.match((await link.getAttribute("rel"))!, /noopener/);
});

test("4.1 Push: with pullRequestError it says why and offers compareUrl; without commits it is not offered", async () => {
  await using faked = await opened();
  const { page } = faked;
  faked.answers["push_session"] = () => ({
    sessionId,
    branch: git.branch,
    uncommittedChanges: 0,
    pullRequestUrl: null,
    pullRequestError: "not_logged_in",
    pullRequestMessage: "The host's code-hosting client is not logged in.",
    compareUrl,
  });
  await page.getByRole("button", { name: "Push and open PR" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Push and open PR" }).click();
  await dialog.getByText("The host's code-hosting client is not logged in.").waitFor();
  assert.equal(await dialog.getByRole("link").getAttribute("href"), compareUrl);
  await page.keyboard.press("Escape");
  faked.answers["get_session_git"] = () => ({ ...git, commits: 0, unpushedCommits: 0 });
  await page.getByRole("button", { name: "Push and open PR" }).click();
  await dialog.getByText("Nothing is committed yet.").waitFor();
  assert.ok(await dialog.getByRole("button", { name: "Push and open PR" }).isDisabled());
});

test("4.1 End session: it says what is saved nowhere else, with Push first beside it", async () => {
  await using faked = await opened({}, 390);
  const { page } = faked;
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "End session" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Not saved elsewhere: 3 uncommitted files, 1 unpushed commit.").waitFor();
  await dialog.getByRole("button", { name: "Push first" }).click();
  await dialog.getByText("2 commits, 1 not pushed").waitFor();
  assert.deepEqual(callsOf(faked, "end_session"), []);
});

test("4.1 Prompt: its menu goes back to before it and forks, once for a double click, and says to which time", async () => {
  await using faked = await opened();
  const { page } = faked;
  faked.answers["revert_session"] = (input) => input;
  await openPromptMenu(page);
  await page.getByRole("menuitem", { name: "Go back to before this" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/go back to \d\d:\d\d\./).waitFor();
  await dialog.getByText("refs/hawser/reverted").waitFor();
  const goBack = dialog.getByRole("button", { name: "Go back" });
  await goBack.click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(callsOf(faked, "revert_session").length, 1);
  await openPromptMenu(page);
  await page.getByRole("menuitem", { name: "Fork the session" }).click();
  await dialog.getByLabel("A summary of the conversation").check();
  faked.answers["fork_session"] = () => ({ ...session, sessionId: "ses_2" });
  await dialog.getByRole("button", { name: "Fork" }).dblclick();
  await page.waitForURL(/ses_2/);
  assert.deepEqual(callsOf(faked, "fork_session"), [
    { sessionId, agentKind: "claude_code", mode: "compress" },
  ]);
});

test("7 Focus: a dialog begins at its first field, else at its first button, and gives the focus back", async () => {
  await using faked = await opened();
  const { page } = faked;
  const actions = page.getByRole("button", { name: "Session actions" });
  const begins = async (item: string, where: string) => {
    await actions.click();
    await page.getByRole("menuitem", { name: item }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const name = await page.evaluate(() => {
      const focused = document.activeElement as HTMLInputElement;
      return focused.labels?.[0]?.innerText ?? focused.innerText;
    });
    assert.equal(name.trim(), where);
    return dialog;
  };
  await begins("Fork", "Claude Code");
  await page.keyboard.press("Escape");
  await begins("End session", "Push first");
  await page.keyboard.press("Escape");
  await page.waitForFunction(
    () => document.activeElement?.getAttribute("aria-label") === "Session actions",
  );
  faked.refusals["rename_session"] = { code: "sign_in_again", message: "Again.", retry: "never" };
  faked.useProvider();
  await faked.open(`/sessions/${sessionId}`);
  const rename = await begins("Rename", "Title");
  await rename.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("dialog", { name: "Confirm who you are" }).waitFor();
  await page.waitForFunction(
    () => document.activeElement?.textContent === "Continue with single sign-on",
  );
});

test("3.1 Acts: what the agent cannot do is absent from both menus", async () => {
  await using faked = await opened({ capabilities: [] });
  const { page } = faked;
  await page.getByRole("button", { name: "Push and open PR" }).waitFor();
  await page.getByRole("button", { name: "Session actions" }).click();
  const items = page.getByRole("menuitem");
  await items.first().waitFor();
  assert.deepEqual(await items.allTextContents(), ["Push and open PR", "Rename", "End session"]);
  await page.keyboard.press("Escape");
  await openPromptMenu(page);
  await items.first().waitFor();
  assert.deepEqual(await items.allInnerTexts(), ["Copy link", "Copy text"]);
});

test("a host behind the first page of hosts is named, and can be forked to", async () => {
  await using faked = await opened();
  const { page, answers } = faked;
  const instances = (answers["search_instances"]!({}) as { instances: object[] }).instances;
  answers["search_instances"] = () => ({ instances: [], nextCursor: "more" });
  answers["get_instance"] = () => ({ ...instances[0], name: "far away" });
  await faked.open(`/sessions/${sessionId}`);
  await page.locator(".bar").getByText("far away").waitFor();
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Fork" }).click();
  await page.getByRole("dialog").getByLabel("Claude Code").waitFor();
});
