// While the policy file is missing or cannot be read, every refusal names the file, the reason and the cure,
// and not what an empty policy would forbid.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeSmallHost, script, wanted } from "@hawser/testkit/small-host.ts";
import type { SessionSettings } from "../drivers/driver.ts";

for (const [state, breakFile, reason] of [
  ["missing", rmSync, /is missing, so this host allows nothing\. On the host, make the file with/],
  [
    "unreadable",
    (path: string) => writeFileSync(path, "dance = yes\n"),
    /cannot be read, so this host allows nothing: line 1: .* On the host, correct the file/,
  ],
] as const) {
  test(`each refusal because of a policy file that is ${state} says so`, async () => {
    using small = makeSmallHost();
    const policyFile = join(small.directory, "policy");
    let settings: SessionSettings | undefined;
    const host = small.open({
      wrapDriver: (driver) => ({
        ...driver,
        start(given, ...rest) {
          settings = given;
          return driver.start(given, ...rest);
        },
      }),
    });
    const asked = wanted(small.repository);
    const { sessionId } = asked;
    await host.must("start_session", asked);
    breakFile(policyFile);

    const url = "https://code.example/a/b.git";
    const outcomes = [
      await host.ask("start_session", wanted(small.repository)),
      await host.ask("send_prompt", { sessionId, text: script([{ text: "Hello." }]) }),
      await host.ask("run_shell", { sessionId, command: "true" }),
      await host.ask("set_session_mode", { sessionId, mode: "auto" }),
      await host.ask("browse_directory", { path: small.repository }),
      await host.ask("clone_repository", { rootPath: small.repository, url }),
      await host.ask("list_models", { kind: "opencode" }),
      await host.ask("update_daemon", {}),
    ];
    const isNamed = (text: string) => {
      assert.ok(text.includes(`The policy file ${policyFile} `), text);
      assert.match(text, reason);
    };
    for (const outcome of outcomes) {
      assert.ok(outcome && "refusal" in outcome, JSON.stringify(outcome));
      isNamed(outcome.refusal.message);
    }
    const { agentKinds } = await host.must("list_agent_kinds", {});
    for (const { problems } of agentKinds) isNamed(problems[0]?.message ?? "");
    const call = { type: "fetch", callId: "call-1", target: "https://a.example" } as const;
    const { answer, rule } = settings!.decide(call);
    assert.equal(answer, "deny");
    isNamed(rule);
    // A narrower mode needs no permission of the file.
    await host.must("set_session_mode", { sessionId, mode: "ask" });
    await host.close();
  });
}
