// Counts what each address does with each exposure, and reports it (N22). Each report of an address is an entry of the
// audit trail, so a page that stays open is reported once a minute. Counts that could not be reported are kept, and
// reported with the next ones.
import type { Log } from "../log.ts";
import type { ExposureUse, OpenExposure } from "./open-exposure.ts";
import { networkOf } from "./throttle.ts";

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
/** Between two reports of one address and exposure. */
const sameEveryMs = 60_000;
/** Bounds the memory while counts cannot be reported. Further addresses are then counted as one. */
const mostRows = 20_000;
/** Networks of strangers at one exposure that get a row each. They must not hide the users, or fill the audit trail. */
const mostStrangers = 50;
const otherAddresses = "other";

export function createUses(parts: {
  recordUse: (rows: ExposureUse[]) => Promise<void>;
  now: () => number;
  log: Log;
}): Uses {
  const rows = new Map<string, ExposureUse>();
  /** How many rows of refused requests an exposure has. */
  const strangersAt = new Map<string, number>();
  /** When an address and exposure was last reported, if that is less than a minute ago. */
  const reported = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let reporting: Promise<void> = Promise.resolve();

  /** Refused requests have rows of their own. */
  function rowOf(
    { exposureId, organizationId }: Pick<OpenExposure, "exposureId" | "organizationId">,
    address: string,
    isRefused: boolean,
  ): ExposureUse {
    const prefix = `${isRefused ? "refused" : "admitted"} ${exposureId} `;
    const from = isRefused && address !== otherAddresses ? networkOf(address) : address;
    const found = rows.get(prefix + from);
    if (found) return found;
    const strangers = strangersAt.get(exposureId) ?? 0;
    const hasRoom = isRefused ? strangers < mostStrangers : rows.size < mostRows;
    const shown = hasRoom ? from : otherAddresses;
    let row = rows.get(prefix + shown);
    if (!row) {
      const none = { requests: 0, refused: 0, bytesIn: 0, bytesOut: 0 };
      row = { exposureId, organizationId, address: shown, ...none, lastUsedAt: 0 };
      rows.set(prefix + shown, row);
      if (isRefused) strangersAt.set(exposureId, strangers + 1);
    }
    return row;
  }

  async function report(isLast: boolean): Promise<void> {
    const now = parts.now();
    for (const [key, at] of reported) if (now - at >= sameEveryMs) reported.delete(key);
    const due = [...rows].filter(([key]) => isLast || !reported.has(key));
    if (due.length === 0) return;
    const unsent = due.map(([, use]) => use);
    for (const [key, { exposureId, refused }] of due) {
      rows.delete(key);
      if (refused > 0) forgetStranger(exposureId);
    }
    try {
      await parts.recordUse(unsent);
      for (const [key] of due) reported.set(key, now);
    } catch (error) {
      parts.log.warn({ err: error }, "uses of exposures could not be recorded; they are kept");
      for (const use of unsent) {
        const row = rowOf(use, use.address, use.refused > 0);
        for (const what of ["requests", "refused", "bytesIn", "bytesOut"] as const) {
          row[what] += use[what];
        }
        row.lastUsedAt = Math.max(row.lastUsedAt, use.lastUsedAt);
      }
    }
  }

  function forgetStranger(exposureId: string): void {
    const left = strangersAt.get(exposureId)! - 1;
    if (left > 0) strangersAt.set(exposureId, left);
    else strangersAt.delete(exposureId);
  }

  /** One report at a time, so that counts which are kept are not reported twice. */
  const reportNext = (isLast: boolean) => (reporting = reporting.then(() => report(isLast)));

  return {
    count(exposure, address, what, amount) {
      const row = rowOf(exposure, address, what === "refused");
      row[what] += amount;
      if (what !== "refused") row.lastUsedAt = parts.now();
    },
    start() {
      timer ??= setInterval(() => void reportNext(false), reportEveryMs);
    },
    async close() {
      clearInterval(timer);
      await reportNext(true);
    },
  };
}
