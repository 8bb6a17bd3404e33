import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  codeOf,
  makeSmallHost,
  script,
  wanted,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";
import type { SessionSettings } from "../drivers/driver.ts";

const fetching = { type: "fetch", callId: "call-1", target: "https://a.example" } as const;

/** Starts a session, and returns what its agent is to call before each of its own calls. */
async function begin(small: SmallHost, more: object = {}) {
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
  await host.must("start_session", { ...asked, ...more });
  return { host, sessionId: asked.sessionId, decide: settings!.decide };
}

const decided = (host: OpenHost, sessionId: string, name: string) =>
  host.entries(sessionId).flatMap(({ update }) => (update.sessionUpdate === name ? [update] : []));

test("a mode holds for the next call, and the log shows mode and rule of each decision", async () => {
  using small = makeSmallHost();
  const { host, sessionId, decide } = await begin(small);
  assert.equal(decide(fetching).answer, "ask");
  await host.must("set_session_mode", { sessionId, mode: "unattended" });
  await host.must("set_session_mode", { sessionId, mode: "unattended" });
  const { answer, rule } = decide(fetching);
  assert.equal(answer, "deny");
  await host.must("set_session_mode", { sessionId, mode: "auto" });
  assert.equal(decide(fetching).answer, "ask");
  assert.deepEqual(decided(host, sessionId, "mode_changed"), [
    { sessionUpdate: "mode_changed", mode: "unattended", reason: null },
    { sessionUpdate: "mode_changed", mode: "auto", reason: null },
  ]);
  assert.deepEqual(decided(host, sessionId, "call_decided"), [
    { sessionUpdate: "call_decided", toolCallId: "call-1", answer, rule, mode: "unattended" },
  ]);
  await host.must("end_session", { sessionId });
  const ended = await host.ask("set_session_mode", { sessionId, mode: "ask" });
  assert.equal(codeOf(ended), "session_ended");
  assert.equal(decide(fetching).answer, "deny");
  await host.close();
});

test("the host's policy file and the organization can only narrow a mode", async () => {
  using small = makeSmallHost();
  const policyFile = join(small.directory, "policy");
  appendFileSync(policyFile, "highest-mode = auto\n");
  const { host, sessionId, decide } = await begin(small, { mode: "unattended" });
  const [narrowed] = decided(host, sessionId, "mode_changed") as { mode: string; reason: string }[];
  assert.equal(narrowed?.mode, "auto");
  assert.match(narrowed.reason, /The host's policy file allows at most the mode auto/);
  const wider = await host.ask("set_session_mode", { sessionId, mode: "unattended" });
  assert.equal(codeOf(wider), "mode_not_allowed");

  writeFileSync(policyFile, `root = ${small.repository}\nunattended-commands = yes\n`);
  await host.must("set_session_mode", { sessionId, mode: "unattended" });
  const run = { type: "execute", callId: null, command: "make", cwd: small.repository } as const;
  const { directory } = host.journal.driven.get(sessionId)!;
  assert.equal(decide({ ...run, cwd: directory }).answer, "allow");
  writeFileSync(policyFile, `root = ${small.repository}\nunattended-commands = no\n`);
  assert.equal(decide({ ...run, cwd: directory }).answer, "deny");
  // The file counts at each call, whatever the session's record says.
  writeFileSync(policyFile, `root = ${small.repository}\nhighest-mode = ask\n`);
  assert.equal(decide({ ...run, cwd: directory }).answer, "ask");

  writeFileSync(policyFile, `root = ${small.repository}\n`);
  const text = script([{ text: "Done." }]);
  await host.must("send_prompt", { sessionId, text, highestMode: "ask" });
  assert.equal(host.journal.driven.get(sessionId)!.mode, "ask");
  const last = decided(host, sessionId, "mode_changed").at(-1) as { reason: string };
  assert.match(last.reason, /The organization allows at most the mode ask/);
  await host.close();
});
