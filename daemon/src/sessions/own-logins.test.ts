// `own-logins = no` in the policy file: no agent works, because it has no other login than that of the
// host's user.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { AgentKind } from "@hawser/contract";
import { begin, codeOf, makeSmallHost, script, wanted } from "@hawser/testkit/small-host.ts";

test("A4: own-logins = no refuses starts, prompts and resumes, and is shown for each kind", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const allow = (word: "yes" | "no") =>
    writeFileSync(
      join(small.directory, "policy"),
      `root = ${dirname(small.repository)}\nown-logins = ${word}\n`,
    );
  const prompt = () => host.ask("send_prompt", { sessionId, text: script([{ text: "Hello." }]) });
  const refused = async (work: ReturnType<typeof host.ask>) => {
    const outcome = await work;
    assert.equal(codeOf(outcome), "agent_not_ready");
    assert.match(JSON.stringify(outcome), /own-logins = no.*own-logins = yes/);
  };
  try {
    allow("no");
    await refused(host.ask("start_session", wanted(small.repository)));
    await refused(prompt());
    await refused(host.ask("list_models", { kind: "opencode" }));
    allow("yes");
    await host.must("restart_agent", { kind: "opencode" });
    await host.until(sessionId, "session_status", ({ status }) => status === "detached");
    allow("no");
    await refused(prompt());
    const { agentKinds } = await host.must("list_agent_kinds", {});
    for (const kind of AgentKind.options) {
      const record = agentKinds.find((each) => each.kind === kind)!;
      const problem = record.problems.find(({ code }) => code === "policy_forbids");
      assert.match(problem?.message ?? "", /own-logins = no/, kind);
    }
    allow("yes");
    assert.equal(codeOf(await prompt()), "done");
    assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
  } finally {
    await host.close();
  }
});
