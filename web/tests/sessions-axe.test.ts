// Accessibility of the pages of sessions and of the inbox, in both themes, on a desk and on a phone. Nothing scrolls
// sideways.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { listing, openFaked, sessionId, session } from "./faked-service.ts";
import { manySessions } from "./many-sessions.ts";
import { firstRun } from "./first-run.ts";
import { recordings } from "./recordings.ts";

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

interface Found {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

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

for (const width of [1440, 390]) {
  for (const theme of ["light", "dark"] as const) {
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
      const check = async (what: string) => {
        await page.evaluate(axe);
        const { violations } = await page.evaluate<{ violations: Found[] }>("axe.run()");
        assert.deepEqual(
          violations.map(({ id, nodes }) => [id, nodes[0]!.html, nodes[0]!.failureSummary]),
          [],
          what,
        );
        const isTooWide = await page.evaluate(
          () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
        );
        assert.equal(isTooWide, false, `${what} scrolls sideways`);
      };
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
  }
}
