// PostgreSQL fails over to its synchronous standby, by plan or because the primary was killed. Besides the
// checks of every run: writes are accepted again in time, acknowledged writes are kept, no host forgets.
import { setTimeout as sleep } from "node:timers/promises";
import { formatId } from "@hawser/contract";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { TakeOver } from "@hawser/testkit/postgres-pair.ts";
import type { Random } from "../fuzz/random.ts";
import { ask } from "./ask.ts";
import type { Bed } from "./bed.ts";
import { between, type Fault } from "./fault.ts";

/** For how long a node may refuse writes. */
const mostAwayMs = 10_000;
const pauseMs = 50;

export const switchOver: Fault = {
  id: "F16",
  title:
    "switch-over to a synchronous PostgreSQL standby: planned, read-only first, stale address, kill -9",
  standby: true,
  async open({ bed, random, broken }) {
    const { postgres } = bed;
    if (!postgres) throw new Error("F16 needs a PostgreSQL with a standby.");
    /** Names of acknowledged writes, by the id of the instance that was made. */
    const acknowledged = new Map<string, string>();
    let turn = random.below(plans.length);
    return {
      async inject() {
        const [what, plan] = plans[turn++ % plans.length]!;
        let isOver = false;
        const taking = postgres.takeOver(plan(random)).finally(() => (isOver = true));
        const writing = bed
          .nodes()
          .map(({ baseUrl }) => untilWritten(bed, baseUrl, acknowledged, () => isOver));
        const [, ...awayMs] = await Promise.all([taking, ...writing]);
        const longestMs = Math.max(...awayMs);
        if (longestMs > mostAwayMs) broken.push(`${what}: no writes for ${longestMs} ms`);
        return `${what}: no writes for ${longestMs} ms`;
      },
      async heal() {
        broken.push(...(await findLost(bed.world.database.url, acknowledged)));
        for (const { host } of bed.hosts) {
          if (host.isAlive()) continue;
          broken.push(`the host ${host.instanceId} ended by itself: ${host.log.slice(-3).join()}`);
        }
      },
    };
  },
};

const plans: [what: string, plan: (random: Random) => TakeOver][] = [
  ["planned", () => ({ primary: "stop" })],
  [
    "planned, read-only first",
    (random) => ({ primary: "stop", readOnlyMs: between(random, 500, 2_000) }),
  ],
  [
    "planned, the address moved late",
    (random) => ({ primary: "stop", staleMs: between(random, 500, 2_000) }),
  ],
  ["primary killed", () => ({ primary: "kill" })],
];

/**
 * Writes through a node until a write is acknowledged after one was refused, or after the switch-over. Returns
 * for how long writes were refused, in milliseconds.
 */
async function untilWritten(
  bed: Bed,
  baseUrl: string,
  acknowledged: Map<string, string>,
  isOver: () => boolean,
): Promise<number> {
  const { key } = bed.world.caller;
  const startedAt = Date.now();
  let refusedAt: number | undefined;
  for (let count = 1; Date.now() - startedAt < 3 * mostAwayMs; count++) {
    const input = { name: `write ${count} at ${baseUrl} since ${startedAt}` };
    const answer = await ask(baseUrl, { action: "create_instance", input, key });
    if (answer.status === 200) {
      const { result } = JSON.parse(answer.body);
      acknowledged.set(result.instance.instanceId, input.name);
      if (refusedAt !== undefined) return Date.now() - refusedAt;
      if (isOver()) return 0;
    } else {
      refusedAt ??= answer.at - answer.tookMs;
    }
    await sleep(pauseMs);
  }
  return Infinity;
}

async function findLost(url: string, acknowledged: Map<string, string>): Promise<string[]> {
  const rows = await ownerSql<{ instance_id: string }>(url, "SELECT instance_id FROM instances");
  const found = new Set(rows.map((row) => formatId("instance", row.instance_id)));
  return [...acknowledged]
    .filter(([instanceId]) => !found.has(instanceId))
    .map(([instanceId, name]) => `an acknowledged write was lost: ${instanceId}, ${name}`);
}
