// What the host is doing that takes a while: cloning, installing, updating. Kept in memory and reported
// with the facts, so that callers see the progress on the instance. An operation stays for ten minutes
// after its end.
import { randomUUID } from "node:crypto";
import type { HostOperation } from "@hawser/contract";
import { describe } from "./log.ts";

export interface Operations {
  list(): HostOperation[];
  /** Runs `work` as an operation, which has failed, with the reason, if `work` throws. */
  run<T>(type: HostOperation["type"], subject: string, work: Work<T>): Promise<T>;
}

/** `step` reports the present step and, if it is known, the percentage that is done. */
export type Work<T> = (step: (step: string, percent?: number) => void) => Promise<T>;

const keptMs = 10 * 60_000;

export function createOperations(onChange: () => void, now: () => number = Date.now): Operations {
  const operations = new Map<string, { operation: HostOperation; endedAt?: number }>();

  function clean(): void {
    for (const [id, { endedAt }] of operations) {
      if (endedAt !== undefined && endedAt < now() - keptMs) operations.delete(id);
    }
  }

  return {
    list() {
      clean();
      return [...operations.values()].map(({ operation }) => operation);
    },
    async run(type, subject, work) {
      const operationId = randomUUID();
      const startedAt = new Date(now()).toISOString();
      const set = (state: HostOperation["state"], step: string, percent: number | null) => {
        const ended = state === "running" ? {} : { endedAt: now() };
        const operation = { operationId, type, subject, state, step, percent, startedAt };
        operations.set(operationId, { operation, ...ended });
        onChange();
      };
      set("running", "starting", null);
      try {
        const result = await work((step, percent) =>
          set("running", step, percent === undefined ? null : Math.floor(percent)),
        );
        set("done", "done", 100);
        return result;
      } catch (error) {
        set("failed", describe(error), null);
        throw error;
      }
    },
  };
}
