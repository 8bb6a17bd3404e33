// Counts what each address does with each exposure, and reports it every few seconds (N22). Counts that could not be
// reported are kept, and reported with the next ones.
import type { Log } from "../log.ts";
import type { ExposureUse, OpenExposure } from "./open-exposure.ts";

type Counted = "requests" | "refused" | "bytesIn" | "bytesOut";

export interface Uses {
  count(
    exposure: Pick<OpenExposure, "exposureId" | "organizationId">,
    address: string,
    what: Counted,
    amount: number,
  ): void;
  start(): void;
  /** Reports what is left. */
  close(): Promise<void>;
}

const reportEveryMs = 3_000;
/** Bounds the memory while counts cannot be reported. Further addresses are then counted as one. */
const mostRows = 20_000;
const otherAddresses = "other";

export function createUses(parts: {
  recordUse: (rows: ExposureUse[]) => Promise<void>;
  now: () => number;
  log: Log;
}): Uses {
  let rows = new Map<string, ExposureUse>();
  let timer: NodeJS.Timeout | undefined;
  let reporting: Promise<void> = Promise.resolve();

  function rowOf(
    { exposureId, organizationId }: Pick<OpenExposure, "exposureId" | "organizationId">,
    address: string,
  ): ExposureUse {
    const found = rows.get(`${exposureId} ${address}`);
    if (found) return found;
    const shown = rows.size < mostRows ? address : otherAddresses;
    const key = `${exposureId} ${shown}`;
    let row = rows.get(key);
    if (!row) {
      const none = { requests: 0, refused: 0, bytesIn: 0, bytesOut: 0 };
      row = { exposureId, organizationId, address: shown, ...none, lastUsedAt: 0 };
      rows.set(key, row);
    }
    return row;
  }

  async function report(): Promise<void> {
    if (rows.size === 0) return;
    const unsent = [...rows.values()];
    rows = new Map();
    try {
      await parts.recordUse(unsent);
    } catch (error) {
      parts.log.warn({ err: error }, "uses of exposures could not be recorded; they are kept");
      for (const use of unsent) {
        const row = rowOf(use, use.address);
        for (const what of ["requests", "refused", "bytesIn", "bytesOut"] as const) {
          row[what] += use[what];
        }
        row.lastUsedAt = Math.max(row.lastUsedAt, use.lastUsedAt);
      }
    }
  }

  /** One report at a time, so that counts which are kept are not reported twice. */
  const reportNext = () => (reporting = reporting.then(report));

  return {
    count(exposure, address, what, amount) {
      const row = rowOf(exposure, address);
      row[what] += amount;
      if (what !== "refused") row.lastUsedAt = parts.now();
    },
    start() {
      timer ??= setInterval(() => void reportNext(), reportEveryMs);
    },
    async close() {
      clearInterval(timer);
      await reportNext();
    },
  };
}
