// Claude Code and Codex when their daemon is killed and when their kind is restarted: sessions wait as
// detached, come back with their memory, and nothing of an agent is left running.
import assert from "node:assert/strict";
import { agentPids } from "@hawser/testkit/agent-pids.ts";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import type { Caller } from "@hawser/testkit/caller.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  startSession,
  untilAsked,
  untilEnd,
  updatesOf,
} from "../session-steps.ts";

useWorld({ agents: ["claude_code", "codex"], hosts: 1 });

const kinds = ["claude_code", "codex"] as const;
const pidsOf = ({ environment }: TestHost) => agentPids(environment["HOME"]!);

const untilDetached = (caller: Caller, sessionId: string) =>
  until(
    "detached",
    15_000,
    () => caller.get_session_summary({ sessionId }),
    ({ status }) => status === "detached",
  );

for (const agentKind of kinds) {
  scenario(
    `A daemon that is killed leaves nothing of ${agentKind} running; its sessions are detached, and the next prompt brings them back`,
    [],
    async ({ world, caller }) => {
      const host = await world.addHost();
      const idle = (await startSession(caller, host, { agentKind })).sessionId;
      await runTurn(caller, idle, scripted("remember the word", { text: "kept" }));
      const asking = (await startSession(caller, host, { agentKind })).sessionId;
      const command = stepsOf[agentKind].command("touch never.txt");
      const text = scripted("ask", { text: "I ask.", ...command }, { text: "Never." });
      const { turnId } = await caller.send_prompt({ sessionId: asking, text });
      const { requestId } = await untilAsked(caller, asking);
      const before = pidsOf(host);
      assert.ok(before.length > 0);

      host.process.kill("SIGKILL");
      await untilStatus(caller, host.instanceId, "offline");
      await using _again = runDaemon(host.stateDirectory, host.environment);
      await untilStatus(caller, host.instanceId, "online");
      for (const sessionId of [idle, asking]) await untilDetached(caller, sessionId);
      const cut = await untilEnd(caller, asking, turnId);
      // Claude Code takes the end of its daemon for a no, and may still say something.
      assert.deepEqual([outcomeOf(cut), saidIn(cut)[0]], ["interrupted", "I ask."]);
      const [call] = updatesOf(cut, "tool_call_update");
      assert.equal(call?.status, "failed");
      assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
        status: "already_resolved",
      });
      await until(
        "the old processes are gone",
        10_000,
        async () => pidsOf(host),
        (pids) => before.every((pid) => !pids.includes(pid)),
      );

      const back = await runTurn(caller, idle, scripted("go on", { text: "here again" }));
      assert.deepEqual([outcomeOf(back), saidIn(back)], ["completed", ["here again"]]);
      assert.match(JSON.stringify(world.model!.requests.at(-1)!.body), /remember the word/);
      const next = await runTurn(caller, asking, scripted("and you", { text: "me too" }));
      assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["me too"]]);
      for (const sessionId of [idle, asking]) {
        assert.equal((await caller.get_session_summary({ sessionId })).status, "active");
        assert.equal((await caller.end_session({ sessionId })).status, "ended");
      }
    },
  );

  const other = kinds.find((kind) => kind !== agentKind)!;
  scenario(
    `Restarting ${agentKind} interrupts and detaches its sessions, keeps what was said, and leaves ${other} at work`,
    [
      "restart_agent_kind.detached",
      "restart_agent_kind.others",
      "restart_agent_kind.interrupts",
      "restart_agent_kind.kept",
      "restart_agent_kind.respawn",
    ],
    async ({ world, caller }) => {
      const host = world.hosts[0]!;
      const { instanceId } = host;
      const start = async (kind: (typeof kinds)[number]) =>
        (await startSession(caller, host, { agentKind: kind })).sessionId;
      const [busy, idle, beside] = [
        await start(agentKind),
        await start(agentKind),
        await start(other),
      ];
      await runTurn(caller, idle, scripted("remember the word", { text: "kept" }));
      const words = "a b c d e f g h i j";
      const going = await caller.send_prompt({
        sessionId: beside,
        text: scripted("talk", { text: words, paceMs: 500 }),
      });
      const cut = await caller.send_prompt({ sessionId: busy, text: scripted("long", slowly()) });
      await until(
        "the model is asked",
        20_000,
        async () => world.model!.requests,
        (requests) =>
          requests.some(
            ({ outcome, prompt }) => outcome === "running" && prompt.startsWith("long"),
          ),
      );
      const logBefore = await logOf(caller, idle);
      const { detachedSessionIds, kind } = await caller.restart_agent_kind({
        instanceId,
        kind: agentKind,
      });
      assert.deepEqual([kind, [...detachedSessionIds].sort()], [agentKind, [busy, idle].sort()]);
      for (const sessionId of [busy, idle]) await untilDetached(caller, sessionId);
      assert.equal(outcomeOf(await untilEnd(caller, busy, cut.turnId)), "interrupted");
      assert.equal((await caller.get_session_summary({ sessionId: beside })).status, "active");
      const spoken = await untilEnd(caller, beside, going.turnId);
      assert.deepEqual([outcomeOf(spoken), saidIn(spoken)], ["completed", [words]]);
      assert.deepEqual(updatesOf(await logOf(caller, beside), "session_status").length, 1);
      assert.deepEqual((await logOf(caller, idle)).slice(0, logBefore.length), logBefore);

      for (const sessionId of [idle, busy]) {
        const next = await runTurn(caller, sessionId, scripted("go on", { text: "going on" }));
        assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["going on"]]);
        assert.equal((await caller.get_session_summary({ sessionId })).status, "active");
        if (sessionId === idle) {
          assert.match(JSON.stringify(world.model!.requests.at(-1)!.body), /remember the word/);
        }
      }
      for (const sessionId of [busy, idle, beside]) await caller.end_session({ sessionId });
    },
  );
}
