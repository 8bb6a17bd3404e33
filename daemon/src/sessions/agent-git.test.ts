// A repository whose own git configuration names a program that an agent's git would run: no session
// starts there, and none goes on.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  asks,
  begin,
  codeOf,
  git,
  makeSmallHost,
  script,
  wanted,
} from "@hawser/testkit/small-host.ts";

test("A3: starts, prompts and resumes are refused while git's configuration names a program", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const { repository } = small;
  const prompt = () => host.ask("send_prompt", { sessionId, text: script([{ text: "Hello." }]) });
  const refused = async (work: ReturnType<typeof host.ask>) => {
    const outcome = await work;
    assert.equal(codeOf(outcome), "project_config_present");
    assert.match(JSON.stringify(outcome), /filter\.evil\.clean \(.*config\).*git config --global/);
  };
  try {
    git(repository, "config", "filter.evil.clean", "touch marker");
    await refused(host.ask("start_session", wanted(repository)));
    await refused(host.ask("start_session", { ...wanted(repository), useWorktree: false }));
    assert.equal(git(repository, "worktree", "list").trim().split("\n").length, 2, "one is left");
    await refused(prompt());
    await host.must("restart_agent", { kind: "opencode" });
    await host.until(sessionId, "session_status", ({ status }) => status === "detached");
    await refused(prompt());
    git(repository, "config", "--unset", "filter.evil.clean");
    assert.equal(codeOf(await prompt()), "done");
    assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
  } finally {
    await host.close();
  }
});

test("A3: a prompt that waits is dropped if a program is named before its turn", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const { directory } = host.journal.driven.get(sessionId)!;
  try {
    await host.must("send_prompt", { sessionId, text: script([asks(["x"])]) });
    const { requestId, shownHash } = await host.until(sessionId, "request_raised");
    const { turnId } = await host.must("send_prompt", { sessionId, text: script([{ text: "2" }]) });
    git(directory, "config", "filter.evil.process", "touch marker");
    const answer = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
    await host.must("answer_request", answer);
    const dropped = await host.until(sessionId, "prompt_dropped", (one) => one.turnId === turnId);
    assert.match(dropped.reason, /filter\.evil\.process/);
  } finally {
    await host.close();
  }
});
