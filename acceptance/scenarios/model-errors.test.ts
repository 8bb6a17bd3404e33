// What becomes of a turn when the endpoint of its model refuses, breaks off or is not there, with the real
// agents: it fails in time, says what to do, and the next turn works. Every case, with each kind's limits
// shortened, is in its driver's failures.test.ts; here is one of each sort, and with HAWSER_LONG=1 all of
// them with the limits as they are.
import assert from "node:assert/strict";
import { AgentKind } from "@hawser/contract";
import { freePort } from "@hawser/testkit/free-port.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  startSession,
  untilLogged,
  updatesOf,
  type Step,
} from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1 });

const isLong = process.env["HAWSER_LONG"] === "1";

/** What every kind has to say, in its own words. */
const login = /refused .*(login|key).*\bLog in|opencode auth login/;
const limit = /(rate limit|usage limit|no more requests for now).*(again|Wait)/s;
const fault = /(overloaded|has a fault).*again/;
const network = /(cannot|could not) be reached.*network.*again/;

interface Case {
  what: string;
  step: Step;
  reason: RegExp;
  /** Taken in the short form: some of those that are quick to give up. */
  quickWith?: readonly AgentKind[];
}

const hour = 3_600;
const cases: Case[] = [
  { what: "401", step: { status: 401 }, reason: login, quickWith: AgentKind.options },
  { what: "403", step: { status: 403 }, reason: login },
  {
    what: "429 with its end",
    step: { status: 429, retryAfterSeconds: hour },
    reason: limit,
    quickWith: ["opencode", "claude_code"],
  },
  { what: "429", step: { status: 429 }, reason: limit },
  { what: "500", step: { status: 500 }, reason: fault, quickWith: ["codex"] },
  { what: "529", step: { status: 529 }, reason: fault },
  { what: "a cut", step: { text: "So far", cut: true }, reason: network },
];

/** All at once, in sessions of their own: most of the time is spent waiting for the next try. */
async function failAll(
  { caller }: Context,
  host: TestHost,
  agentKind: AgentKind,
  chosen: Case[],
  patienceMs: number,
): Promise<void> {
  await Promise.all(
    chosen.map(async ({ what, step, reason }) => {
      const about = `${agentKind}, ${what}`;
      const { sessionId } = await startSession(caller, host, { agentKind, title: what });
      await caller.send_prompt({ sessionId, text: scripted(about, step) });
      const failed = await untilLogged(caller, sessionId, "turn_finished", () => true, patienceMs);
      const [end] = updatesOf(failed, "turn_finished");
      assert.equal(end?.outcome, "failed", about);
      assert.match(end.reason ?? "", reason, about);
      const { status } = await caller.get_session_summary({ sessionId });
      assert.equal(status, "active", "the session is not over");
      const next = await runTurn(caller, sessionId, scripted("and now", { text: "Better." }));
      assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["Better."]], about);
      await logOf(caller, sessionId);
      await caller.end_session({ sessionId });
    }),
  );
}

for (const agentKind of AgentKind.options) {
  scenario(`A model that refuses or breaks off fails a turn of ${agentKind}`, [], (context) => {
    const chosen = cases.filter(({ quickWith = [] }) => isLong || quickWith.includes(agentKind));
    const patienceMs = isLong ? 150_000 : 40_000;
    return failAll(context, context.world.hosts[0]!, agentKind, chosen, patienceMs);
  });
}

scenario(
  "A turn of every kind fails if nothing listens at the model's address",
  [],
  async ({ world, caller }) => {
    const host = await world.addHost({ modelUrl: `http://127.0.0.1:${await freePort()}` });
    const kinds = AgentKind.options.filter((kind) => isLong || kind !== "opencode");
    await Promise.all(
      kinds.map(async (agentKind) => {
        const { sessionId } = await startSession(caller, host, { agentKind });
        await caller.send_prompt({ sessionId, text: "Is anybody there?" });
        const log = await untilLogged(caller, sessionId, "turn_finished", () => true, 150_000);
        const [end] = updatesOf(log, "turn_finished");
        assert.equal(end?.outcome, "failed", agentKind);
        assert.match(end.reason ?? "", network, agentKind);
      }),
    );
  },
);

scenario("A model that is silent for a while is waited for", [], async ({ world, caller }) => {
  const silenceMs = isLong ? 60_000 : 5_000;
  await Promise.all(
    AgentKind.options.map(async (agentKind) => {
      const { sessionId } = await startSession(caller, world.hosts[0]!, { agentKind });
      const text = scripted("take your time", { delayMs: silenceMs, text: "At last." });
      await caller.send_prompt({ sessionId, text });
      const log = await untilLogged(caller, sessionId, "turn_finished", () => true, 150_000);
      assert.deepEqual([outcomeOf(log), saidIn(log)], ["completed", ["At last."]], agentKind);
    }),
  );
});
