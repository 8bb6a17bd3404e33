// Sessions of the real Claude Code, with a scripted model: its processes do not disturb what runs beside them.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { makeStartId } from "../drivers/start-id.ts";
import { makeSessionId, makeSmallHost, policy, script } from "@hawser/testkit/small-host.ts";

let claude: ClaudeHost;
before(async () => {
  claude = await openClaudeHost();
});
after(() => claude[Symbol.asyncDispose]());

test("a shell command keeps running while a prompt resumes the session", async () => {
  using small = makeSmallHost();
  const newStartId = () => makeStartId(join(small.directory, "state"));
  const driver = claude.openDriver({ newStartId });
  const host = small.open({ wrapDriver: () => driver });
  try {
    const sessionId = makeSessionId();
    const wanted = { sessionId, kind: "claude_code" as const, directory: small.repository, policy };
    await host.must("start_session", { ...wanted, title: "Beside a shell" });
    await host.must("restart_agent", { kind: "claude_code" });
    await host.until(sessionId, "session_status", ({ status }) => status === "detached");

    const { directory } = host.journal.driven.get(sessionId)!;
    const command = "touch begun; until [ -e go ]; do sleep 0.05; done; echo whole";
    const { shellId } = await host.must("run_shell", { sessionId, command });
    await until("the command runs", () => existsSync(join(directory, "begun")));
    await host.must("send_prompt", { sessionId, text: script([{ text: "Back." }]) });
    assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
    writeFileSync(join(directory, "go"), "");
    const end = await host.until(sessionId, "shell", (update) => update.shellId === shellId);
    assert.deepEqual([end.exitCode, end.output, end.reason], [0, "whole\n", null]);
  } finally {
    await host.close();
  }
});
