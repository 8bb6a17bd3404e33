// The figure of first words: from a prompt to the first text at a viewer, through the control plane,
// beside the same prompt to the bare agent over its own protocol. The model answers at once.
import type { AgentKind } from "@hawser/contract";
import { forMeasuring } from "@hawser/testkit/postgres.ts";
import { readSession } from "@hawser/testkit/session-reader.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld } from "@hawser/testkit/world.ts";
import { startBareAgent } from "./bare-agents.ts";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { inTurns, millisecondsRound } from "./rounds.ts";
import { say } from "./stage.ts";

const goalOf = (name: string, kind: AgentKind): Goal => ({
  name,
  unit: "ms",
  goal: 20,
  direction: "at most",
  held: "difference",
  meaning:
    `From send_prompt to the first live text at a viewer, beside the same prompt to a bare ${kind}; ` +
    "held is how much longer ours takes.",
});

export const answered = `hi @@${JSON.stringify([{ text: "Hello there, here is an answer." }])}`;

export async function* measureFirstText(
  name: string,
  kind: AgentKind,
  quick: boolean,
): AsyncGenerator<[Figure, Goal]> {
  const goal = goalOf(name, kind);
  await using world = await startWorld({ hosts: 1, agents: [kind], postgres: forMeasuring });
  const host = world.hosts[0]!;
  const { sessionId } = await world.caller.start_session({
    instanceId: host.instanceId,
    agentKind: kind,
    directory: host.repository,
    title: "bench",
  });
  await using viewer = await readSession(world.baseUrl, world.caller.key, sessionId);
  await using agent = await startBareAgent(kind, world.model!.url);
  const bare = await agent.open();

  const ours = async () => {
    const seen = viewer.live.length;
    const startedAt = performance.now();
    const { turnId } = await world.caller.send_prompt({ sessionId, text: answered });
    await until("live text", () => Promise.resolve(viewer.live.length > seen), 20_000);
    const took = viewer.live[seen]!.seenAt - startedAt;
    const isEnd = (entry: { turnId: string | null; update: { sessionUpdate: string } }) =>
      entry.turnId === turnId && entry.update.sessionUpdate === "turn_finished";
    await viewer.until("the end", isEnd, 20_000);
    return took;
  };
  say(name);
  const rounds = await inTurns(
    quick ? 1 : 60,
    ours,
    () => bare.ask(answered),
    millisecondsRound,
    quick ? 0 : 3,
  );
  yield [figureOf(goal, rounds), goal];
}
