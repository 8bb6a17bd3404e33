// Polls an organization's instances often enough to time changes: every change of an instance's status or
// reason, with the time at which it was first seen.
import { requestCounter, type Caller } from "./caller.ts";

export interface Sighting {
  /** By performance.now(). */
  at: number;
  status: string;
  statusReason: string | null;
}

export interface PresenceWatch extends AsyncDisposable {
  /** The changes of an instance, one per line, oldest first. */
  seen(instanceId: string): Sighting[];
  /** Waits until each instance was seen in this state at or after `since`. Returns the delay of each. */
  until(
    what: string,
    instanceIds: string[],
    test: (sighting: Sighting) => boolean,
    options?: { since?: number; patienceMs?: number },
  ): Promise<number[]>;
}

const everyMs = 20;

export function watchPresence(caller: Caller): PresenceWatch {
  const histories = new Map<string, Sighting[]>();
  const ended = new AbortController();
  let looked = performance.now();

  async function look(): Promise<void> {
    // The watch continues if a node dies or does not answer for a moment.
    const reply = await caller.try("list_instances").catch(() => undefined);
    const at = performance.now();
    if (reply?.status === 200) {
      const { instances } = (reply.body as { result: { instances: Shown[] } }).result;
      for (const { instanceId, status, statusReason } of instances) {
        let history = histories.get(instanceId);
        if (!history) histories.set(instanceId, (history = []));
        const last = history.at(-1);
        if (last?.status === status && last.statusReason === statusReason) continue;
        history.push({ at, status, statusReason });
      }
      looked = at;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }

  // These thousands of answers are not counted as requests of the test.
  const watching = requestCounter.run(undefined as never, async () => {
    while (!ended.signal.aborted) await look();
  });

  return {
    seen: (instanceId) => histories.get(instanceId) ?? [],
    async until(what, instanceIds, test, { since = performance.now(), patienceMs = 20_000 } = {}) {
      /** A state lasts until the next change, so the last one before `since` counts too. */
      const momentOf = (instanceId: string) => {
        const history = histories.get(instanceId) ?? [];
        const found = history.find(
          (sighting, index) =>
            (history[index + 1]?.at ?? Infinity) > since && looked >= since && test(sighting),
        );
        return found && Math.max(0, found.at - since);
      };
      const deadline = since + patienceMs;
      for (;;) {
        const missing = instanceIds.filter((id) => momentOf(id) === undefined);
        if (missing.length === 0) return instanceIds.map((id) => momentOf(id)!);
        if (performance.now() > deadline) {
          const last = JSON.stringify(histories.get(missing[0]!)?.at(-1));
          throw new Error(
            `${missing.length} of ${instanceIds.length} instances not ${what} after ${patienceMs} ms; one is ${last}.`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await watching;
    },
  };
}

interface Shown {
  instanceId: string;
  status: string;
  statusReason: string | null;
}
