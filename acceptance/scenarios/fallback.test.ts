// The fallback chain of a host, with the three real agents: which kind a session gets, with which model, and
// where the reason is shown.
import assert from "node:assert/strict";
import { AgentKind, type SessionRecord } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  outcomeOf,
  scripted,
  slowly,
  startSession,
  untilEnd,
  untilLogged,
  updatesOf,
  usedQuota,
  type Step,
} from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1 });

type Chain = Parameters<Calls["set_fallback_chain"]>[0]["chain"];

const setChain = (caller: Calls, { instanceId }: TestHost, chain: Chain, threshold?: number) =>
  caller.set_fallback_chain({ instanceId, chain, ...(threshold !== undefined && { threshold }) });

async function turn(caller: Calls, { sessionId }: SessionRecord, ...steps: Step[]): Promise<void> {
  const { turnId } = await caller.send_prompt({ sessionId, text: scripted("go", ...steps) });
  assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
}

const end = (caller: Calls, { sessionId }: SessionRecord) => caller.end_session({ sessionId });

scenario(
  "A chain's first entry is preferred, until its quota reaches the threshold",
  ["record.fallbackEntry.order", "set_fallback_chain.threshold.trips"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    await setChain(caller, host, [{ kind: "codex" }, { kind: "opencode" }]);
    const first = await startSession(caller, host);
    assert.deepEqual([first.agentKind, first.fallback], ["codex", null]);
    await turn(caller, first, { text: "Hello.", headers: usedQuota(89) });
    const below = await startSession(caller, host);
    assert.deepEqual([below.agentKind, below.fallback], ["codex", null]);
    await turn(caller, below, { text: "Hello.", headers: usedQuota(90) });
    // Codex reports its quota beside the turn.
    const next = await until(
      "the quota counts",
      20_000,
      async () => {
        const started = await startSession(caller, host);
        await end(caller, started);
        return started;
      },
      ({ agentKind }) => agentKind === "opencode",
    );
    const { preferredKind, skipped, droppedOptions } = next.fallback!;
    assert.deepEqual([preferredKind, droppedOptions], ["codex", []]);
    assert.equal(skipped.length, 1);
    const { kind, reason, utilization } = skipped[0]!;
    assert.deepEqual(
      { kind, reason, utilization },
      { kind: "codex", reason: "quota", utilization: 90 },
    );
    const [taken] = updatesOf(
      await untilLogged(caller, next.sessionId, "fallback_taken"),
      "fallback_taken",
    );
    assert.deepEqual([taken?.kind, taken?.skipped], ["opencode", skipped]);
    // A session that runs is not moved.
    await turn(caller, below, { text: "Still here.", headers: usedQuota(3) });
    for (const session of [first, below]) await end(caller, session);
    await setChain(caller, host, []);
  },
);

scenario(
  "A kind that is missing is skipped, and the next entry's model is used",
  [
    "set_fallback_chain.unavailable",
    "set_fallback_chain.entry_model",
    "set_fallback_chain.chain.empty",
    "record.session.agentKind",
  ],
  async ({ world, caller }) => {
    const host = await world.addHost({ agents: ["opencode", "claude_code"] });
    const { instanceId } = host;
    const listed = await caller.list_models({ instanceId, agentKind: "opencode" });
    const models = listed.providers.flatMap(({ providerId, models: own }) =>
      own.map(({ modelId }) => ({ providerId, modelId })),
    );
    const model = models.find(({ modelId }) => modelId !== listed.defaultModel?.modelId)!;
    assert.ok(model, "opencode has a second model");
    await setChain(caller, host, [{ kind: "codex" }, { kind: "opencode", ...model }]);
    const preferred = await startSession(caller, host);
    assert.deepEqual([preferred.agentKind, preferred.model], ["opencode", model]);
    assert.equal(preferred.fallback?.skipped[0]?.reason, "not_installed");
    await turn(caller, preferred, { text: "Hello." });
    // A kind that the caller asked for falls back too; what the next kind does not have is dropped.
    const asked = { agentKind: "codex", options: { reasoning: "high" } } as const;
    const fallen = await startSession(caller, host, asked);
    assert.deepEqual([fallen.agentKind, fallen.fallback?.preferredKind], ["opencode", "codex"]);
    assert.deepEqual(fallen.fallback?.droppedOptions, ["reasoning"]);
    // Null stands for the kind's own model.
    await setChain(caller, host, [
      { kind: "codex" },
      { kind: "claude_code", providerId: null, modelId: null },
    ]);
    const byDefault = await startSession(caller, host);
    assert.equal(byDefault.agentKind, "claude_code");
    for (const session of [preferred, fallen, byDefault]) await end(caller, session);
    const input = { instanceId, directory: host.repository, agentKind: "codex" };
    const count = async () => (await caller.list_sessions({})).sessions.length;
    const before = await count();
    // Without a chain, and with one that has nothing left.
    await setChain(caller, host, []);
    assertRefused(await caller.try("start_session", input), 409, "agent_not_ready");
    await setChain(caller, host, [{ kind: "codex" }]);
    assertRefused(await caller.try("start_session", input), 409, "agent_not_ready");
    assert.equal(await count(), before);
  },
);

scenario(
  "The threshold is 90 if it is left out, and a running turn ends on its kind",
  ["set_fallback_chain.threshold.default", "set_fallback_chain.new_sessions"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const chain = [{ kind: "claude_code" as const }];
    const shown = async () => {
      const { fallbackChain, fallbackThreshold } = await caller.get_instance({ instanceId });
      return { instanceId, fallbackChain, fallbackThreshold };
    };
    const stored = [{ kind: "claude_code", providerId: null, modelId: null }];
    const at = (fallbackThreshold: number) => ({
      instanceId,
      fallbackChain: stored,
      fallbackThreshold,
    });
    assert.deepEqual(await setChain(caller, host, chain, 50), at(50));
    assert.deepEqual(await shown(), at(50));
    assert.deepEqual(await setChain(caller, host, chain), at(90));
    assert.deepEqual(await shown(), at(90));
    const session = await startSession(caller, host, { agentKind: "opencode" });
    const text = scripted("go", slowly("one two three"));
    const { turnId } = await caller.send_prompt({ sessionId: session.sessionId, text });
    await untilLogged(caller, session.sessionId, "turn_started");
    await setChain(caller, host, []);
    assert.equal(outcomeOf(await untilEnd(caller, session.sessionId, turnId)), "completed");
    assert.equal(
      (await caller.get_session_summary({ sessionId: session.sessionId })).agentKind,
      "opencode",
    );
    await end(caller, session);
  },
);
