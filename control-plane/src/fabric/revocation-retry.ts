// Pushes revocations until it succeeds. A revocation is a row first, so a push that fails now loses nothing:
// it must stop neither a node that starts nor the removal of an instance.
import type { Log } from "../log.ts";
import type { Revocations } from "./revocation.ts";

export interface RevocationRetry {
  /** Resolves when a push has succeeded, has failed, or takes long. Never throws. */
  push: () => Promise<void>;
  close: () => void;
}

interface RevocationRetryParts {
  revocations: Revocations;
  /** Called after each attempt, with the number of failures since the last success. */
  observe: (failures: number) => void;
  log: Log;
  /** For how long callers wait. */
  patienceMs?: number;
  firstWaitMs?: number;
}

const longestWaitMs = 60_000;

export function createRevocationRetry({
  revocations,
  observe,
  log,
  patienceMs = 2_000,
  firstWaitMs = 500,
}: RevocationRetryParts): RevocationRetry {
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function attempt(): Promise<void> {
    try {
      await revocations.push();
      if (failures > 0) log.info({ failures }, "revocations are pushed again");
      failures = 0;
      clearTimeout(timer);
    } catch (error) {
      failures += 1;
      const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - 1, 10));
      log.warn(
        { err: error, failures, waitMs },
        "revocations were not pushed; removed hosts may stay connected until the next attempt",
      );
      clearTimeout(timer);
      if (!isClosed) timer = setTimeout(() => void attempt(), waitMs).unref();
    }
    observe(failures);
  }

  return {
    async push() {
      const late = Promise.withResolvers<void>();
      const giveUp = setTimeout(late.resolve, patienceMs);
      await Promise.race([attempt(), late.promise]);
      clearTimeout(giveUp);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
