// Commands to hosts while a key is rotated, and what callers see of them: every command must be answered,
// and no host may be shown offline.
import type { Caller } from "@hawser/testkit/caller.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";

export interface Traffic {
  /** Commands that callers have sent. */
  commands: number;
  /** Commands that were sent again under the same idempotency key, because no answer had come. */
  repeated: number;
  /** Commands that were refused because their host was connecting again, and then sent as new commands. */
  refused: number;
  /** Commands whose result never came, each with the last answer. */
  lost: string[];
  /** Hosts that were shown offline. */
  offline: string[];
  /** Hosts that were shown moving for a moment. */
  moving: number;
}

export interface TrafficOptions {
  /** Distinguishes the commands of this run from others in the same world. */
  name: string;
  callers: readonly Caller[];
  instanceIds: readonly string[];
}

const callersAtOnce = 6;
const patienceMs = 30_000;

/** Sends commands to these hosts in turn until `work` is done and every host was asked at least once. */
export async function withTraffic(
  { name, callers, instanceIds }: TrafficOptions,
  work: () => Promise<void>,
): Promise<Traffic> {
  const traffic: Traffic = {
    commands: 0,
    repeated: 0,
    refused: 0,
    lost: [],
    offline: [],
    moving: 0,
  };
  await using watch = watchPresence(callers[0]!);
  await watch.until("online", [...instanceIds], ({ status }) => status === "online", {
    patienceMs: 120_000,
  });
  const since = performance.now();
  const done = new AbortController();
  let turn = 0;

  async function send(instanceId: string, caller: Caller, command: string): Promise<void> {
    let idempotencyKey = command;
    const deadline = performance.now() + patienceMs;
    let last = "";
    for (let tries = 0; performance.now() < deadline; tries++) {
      if (tries === 1) traffic.repeated += 1;
      const reply = await caller
        .try("refresh_instance", { instanceId }, { "idempotency-key": idempotencyKey })
        .catch((error: unknown) => ({ status: 0, text: String(error) }));
      if (reply.status === 200) return;
      // A refusal is final for its idempotency key: nothing has happened on the host.
      if (reply.text.includes('"host_offline"')) {
        traffic.refused += 1;
        idempotencyKey = `${command}-${tries}`;
      }
      last = `${instanceId} ${reply.status} ${reply.text.slice(0, 300)}`;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    traffic.lost.push(last);
  }

  async function call(): Promise<void> {
    while (!done.signal.aborted || turn < 2 * instanceIds.length) {
      const at = turn++;
      traffic.commands += 1;
      const caller = callers[at % callers.length]!;
      await send(instanceIds[at % instanceIds.length]!, caller, `rotation-${name}-${at}`);
    }
  }

  const calling = Promise.all(Array.from({ length: callersAtOnce }, call));
  try {
    await work();
  } finally {
    done.abort();
    await calling;
  }
  for (const id of instanceIds) {
    const seen = watch.seen(id).filter(({ at }) => at > since);
    if (seen.some(({ status }) => status === "offline")) traffic.offline.push(id);
    if (seen.some(({ statusReason }) => statusReason === "moving")) traffic.moving += 1;
  }
  return traffic;
}
