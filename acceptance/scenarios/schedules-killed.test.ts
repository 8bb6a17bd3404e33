// A node is killed or frozen while it runs a scheduled prompt. The host is frozen first, so that its answer is
// outstanding at that moment. Another node continues: one session, one prompt.
import assert from "node:assert/strict";
import { parseId } from "@hawser/contract";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { World } from "@hawser/testkit/world.ts";
import { briefly, schedule, sessionsOf, untilSucceeded, untilSwept } from "../firing-steps.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import { logOf, updatesOf, warmUp } from "../session-steps.ts";

useWorld({ nodes: 3, hosts: 1, agents: true });

interface Held {
  holder: string | null;
  fence: number;
  asked: boolean;
}

async function heldRun(world: World, scheduleId: string): Promise<Held | undefined> {
  const [run] = await ownerSql<Held & Record<string, unknown>>(
    world.database.url,
    `SELECT holder, fence::int, asked FROM schedule_runs WHERE schedule_id = $1`,
    [parseId("schedule", scheduleId)],
  );
  return run;
}

/** Freezes the host, and lets a run ask it for a session. Returns the node that asks: not the one of the callers. */
async function runOnFrozenHost({ world, caller }: Context) {
  const host = world.hosts[0]!;
  for (let attempt = 0; attempt < 15; attempt++) {
    host.process.kill("SIGSTOP");
    const { scheduleId } = await schedule(caller, host, { frequency: "never" });
    const run = await until(
      "a node asks the host",
      30_000,
      () => heldRun(world, scheduleId),
      (held) => held?.asked === true && held.holder !== null,
    );
    const holder = world.nodes.findIndex(({ log }) =>
      log.some(({ msg, nodeId }) => msg === "node ready" && nodeId === run!.holder),
    );
    if (holder > 0) return { scheduleId, node: world.nodes[holder]! };
    host.process.kill("SIGCONT");
    await untilSucceeded(caller, scheduleId);
  }
  return assert.fail("another node than the first works on a run");
}

for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
  const happens = signal === "SIGKILL" ? "dies" : "freezes and wakes up later";
  scenario(
    `A node ${happens} while a host starts the session of a run: one session, one prompt`,
    ["create_scheduled_prompt.fires"],
    async (context) => {
      const { world, caller } = context;
      const host = world.hosts[0]!;
      await warmUp(caller, host.instanceId);
      const { scheduleId, node } = await runOnFrozenHost(context);
      node.process.kill(signal);
      try {
        await until(
          "another node takes the run over",
          60_000,
          () => heldRun(world, scheduleId),
          (held) => held!.fence > 1,
        );
        host.process.kill("SIGCONT");
        const { session } = await untilSucceeded(caller, scheduleId);
        if (signal === "SIGSTOP") node.process.kill("SIGCONT");
        await untilSwept(caller, host, new Date().toISOString());
        assert.equal((await sessionsOf(caller, scheduleId)).length, 1);
        const prompts = updatesOf(await logOf(caller, session.sessionId), "user_message_chunk");
        assert.deepEqual(
          prompts.map(({ content }) => content.text),
          [briefly],
        );
        const { runs } = await caller.list_schedule_runs({ scheduleId });
        assert.deepEqual(
          runs.map(({ outcome, sessionId }) => [outcome, sessionId]),
          [["succeeded", session.sessionId]],
        );
      } finally {
        host.process.kill("SIGCONT");
        if (signal === "SIGSTOP") node.process.kill("SIGCONT");
      }
    },
  );
}
