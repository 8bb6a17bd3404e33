// Accessibility of the pages of sessions and of the inbox, in both themes, on a desk and on a phone. Nothing scrolls
// sideways.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findNothing, findNothingInDialog, looks } from "./axe.ts";
import type { Entry } from "../src/features/session-log/row.ts";
import { listing, openFaked, sessionId, session, type FakedService } from "./faked-service.ts";
import { manySessions } from "./many-sessions.ts";
import { firstRun } from "./first-run.ts";
import { generatedEntry } from "./generated-log.ts";
import { fakeChanges, payouts } from "./changed-files.ts";
import { recordings } from "./recordings.ts";

const at = "2026-11-15T10:00:00.000Z";

/** What the panels and dialogs of a session show. */
const besideTheTalk: FakedService["answers"] = {
  search_sessions: listing(manySessions),
  list_session_ports: () => ({ ports: [{ port: 5173, program: "vite" }] }),
  list_session_rules: () => ({
    sessionId,
    rules: [
      { rule: "bash: npm test", by: { userId: "usr_1", name: "Mira Okafor" }, at, uses: 2 },
      { rule: `bash: npm run ${"x".repeat(200)}`, by: null, at, uses: 0 },
    ],
    truncated: false,
  }),
  get_session_git: () => ({
    branch: "hawser/stop-double-payouts",
    base: null,
    commits: 2,
    unpushedCommits: 1,
    uncommittedFiles: 3,
    pullRequestUrl: null,
    live: false,
    takenAt: at,
  }),
  search_instances: () => ({
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
  }),
};

/** The output of a shell command in colours, and what the session has used. */
const inPanels: Entry[] = [
  {
    sessionUpdate: "shell",
    shellId: "shl_1",
    output: [31, 32, 33, 34, 35, 36, 90].map((code) => `\u001b[${code}mcolour\u001b[0m`).join("\n"),
    exitCode: 1,
    reason: null,
  },
  {
    sessionUpdate: "usage_update",
    usage: { inputTokens: 900, outputTokens: 90, cacheReadTokens: 9, cacheWriteTokens: 9 },
    costUsd: 1.84,
    costIsEstimate: true,
    context: { usedTokens: 180_000, windowTokens: 200_000 },
  },
].map((update, place) => ({ seq: 41 + place, at, turnId: null, update }));

const requestOf = (requestId: string, type: string) => ({
  requestId,
  type,
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission:
    type === "permission"
      ? {
          title: "Run a command",
          detail: `npm run ${"x".repeat(300)} \u202e`,
          alwaysRules: ["bash: npm run"],
        }
      : null,
  questions:
    type === "question"
      ? [
          {
            question: "Which rounding should totals keep?",
            options: [
              { label: "Half up", description: "As today" },
              { label: "Half even", description: null },
            ],
            multiple: false,
            freeText: true,
          },
        ]
      : null,
  rule: "no rule allows the command",
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: "2026-11-15T10:00:00.000Z",
  resolvedAt: null,
});

for (const { width, theme } of looks) {
  test(`sessions at ${width} pixels in ${theme} have no finding`, async () => {
    const { entries } = recordings[0]!;
    await using faked = await openFaked({
      entryAt: (seq) => entries[seq - 1]!,
      length: entries.length,
      record: { ...session, capabilities: ["commands", "shell"] },
      width,
    });
    const { page, answers } = faked;
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    const check = (what: string) => findNothing(page, what);
    answers["search_session_events"] = () => ({ matches: [{ seq: 2 }], nextAfter: null });
    answers["search_sessions"] = listing(manySessions);
    const asking = (type: string) => {
      answers["search_requests"] = ({ scope }) => ({
        requests: scope === "pending" ? [requestOf(`req_${type}`, type)] : [],
        nextCursor: null,
      });
    };
    await faked.open("/sessions");
    await page.locator(".main .item").first().waitFor();
    await check("/sessions");
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
    await check("the palette");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("checkbox").waitFor();
    await check("the map of keys");
    await page.keyboard.press("Escape");
    await page.keyboard.press("[");
    await check("a narrow sidebar");
    await page.keyboard.press("[");
    await faked.open(`/sessions/${sessionId}`);
    await page.locator(".log-row").first().waitFor();
    await page.evaluate(() => {
      const folds = document.querySelectorAll<HTMLElement>(".fold-line[aria-expanded=false]");
      for (const fold of folds) fold.click();
    });
    await check("a transcript");
    answers["list_session_commands"] = () => ({
      commands: [{ name: "compact", description: "Condenses it.", takesArguments: false }],
    });
    await page.getByLabel("Message").fill("/");
    await page.getByRole("option").waitFor();
    await page.locator("input[type=file]").setInputFiles({
      name: "a.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("a"),
    });
    await page.locator(".file").waitFor();
    await check("commands and files");
    await page.getByLabel("Message").fill("");
    await page.getByRole("button", { name: /^Remove/ }).click();
    await page.keyboard.press("Control+f");
    await page.getByLabel("Find in this session").waitFor();
    await page.keyboard.type("the");
    await page.getByRole("search").getByText("1 of 1").waitFor();
    await check("finding");
    asking("permission");
    await faked.open(`/sessions/${sessionId}`);
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    await check("a permission");
    asking("question");
    await faked.open("/inbox/req_question");
    await page.getByRole("radio").first().waitFor();
    await page.getByRole("radio").first().click();
    await check("/inbox");
    answers["get_session_summary"] = () => ({
      ...session,
      reachable: false,
      status: "error",
      statusMessage: "The agent stopped.",
    });
    answers["search_requests"] = () => ({ requests: [], nextCursor: null });
    await faked.open("/inbox");
    await page.getByText("Nobody is waiting for you.").waitFor();
    await check("an empty inbox");
    await faked.open(`/sessions/${sessionId}`);
    await page.getByText("The host is offline.").first().waitFor();
    await check("an offline host");
    await page.getByRole("button", { name: "Session actions" }).click();
    await page.getByRole("menuitem", { name: "End session" }).click();
    await page.getByRole("dialog").waitFor();
    await check("ending");
    Object.assign(answers, firstRun);
    await faked.open("/start");
    await page.getByText("1 provider: anthropic").waitFor();
    await check("/start");
    await page.getByRole("button", { name: "What the agent may do" }).click();
    await page.getByRole("menuitemradio", { name: "Unattended" }).waitFor();
    await check("modes");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Elsewhere" }).click();
    await page.getByRole("menuitem", { name: "Another directory" }).click();
    await page.getByRole("dialog").waitFor();
    await check("directories");
    assert.deepEqual(faked.errors, []);
    // From here on the browser reports refusals, which are expected.
    faked.signInAs("kim@people.example");
    await page.getByRole("button", { name: "Sign in as mira@people.example again" }).click();
    await page.getByLabel("Password").waitFor();
    await check("a page of somebody else, above a dialog");
  });

  test(`panels, menus and dialogs at ${width} pixels in ${theme} have no finding`, async () => {
    await using faked = await openFaked({
      entryAt: generatedEntry,
      // Ends with the end of a turn, so that nothing runs.
      length: 40,
      record: { ...session, capabilities: ["diff", "shell", "fork", "revert", "summarize"] },
      width,
    });
    const { page, answers, refusals } = faked;
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    Object.assign(answers, besideTheTalk);
    fakeChanges(faked, payouts);
    faked.add(...inPanels);
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    const choose = (name: string) => page.getByRole("menuitem", { name, exact: true }).click();
    await faked.open(`/sessions/${sessionId}?panel=terminal`);
    await page.locator(".terminal-line").last().waitFor();
    await findNothing(page, "Terminal");
    await faked.open(`/sessions/${sessionId}?panel=changes`);
    await page.locator(".letter").first().waitFor();
    await findNothing(page, "Changes");
    await faked.open(`/sessions/${sessionId}?panel=details`);
    await page.getByText("bash: npm test").waitFor();
    await page.getByText("vite").waitFor();
    await findNothing(page, "Details");
    await press("Preview");
    await page.getByText("How long").waitFor();
    await findNothingInDialog(page, "a preview");
    for (const act of ["Push and open PR", "Rename", "Fork", "End session"]) {
      await press("Session actions");
      await choose(act);
      await findNothingInDialog(page, act);
    }
    await press("Session actions");
    await page.getByRole("menuitem", { name: "Rename" }).waitFor();
    await findNothing(page, "the menu of a session");
    await page.keyboard.press("Escape");
    if (width < 720) await page.getByRole("tab", { name: "Talk" }).click();
    await page.locator(".log").hover();
    await page.mouse.wheel(0, -10_000);
    await page.getByRole("button", { name: "Prompt actions" }).first().click();
    await page.getByRole("menuitem", { name: "Copy text" }).waitFor();
    await findNothing(page, "the menu of a prompt");
    await choose("Go back to before this");
    await findNothingInDialog(page, "going back");
    await faked.open("/sessions");
    await page.locator(".main .item").first().waitFor();
    await press(width < 720 ? "More" : "mira@people.example, account");
    await page.getByRole("menuitemradio", { name: "Dark" }).waitFor();
    await findNothing(page, "the menu of the account");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
    await page.getByRole("combobox").fill("zzz");
    await page.getByRole("option").first().waitFor({ state: "detached" });
    await findNothingInDialog(page, "the palette without a match");
    refusals["rename_session"] = { code: "sign_in_again", message: "Again.", retry: "never" };
    for (const way of ["password", "provider"]) {
      if (way === "provider") faked.useProvider();
      await faked.open(`/sessions/${sessionId}`);
      await press("Session actions");
      await choose("Rename");
      await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
      await page.getByRole("dialog", { name: "Confirm who you are" }).waitFor();
      await findNothing(page, `a sign-in with a ${way}`, "dialog:has(.big)");
    }
  });
}
