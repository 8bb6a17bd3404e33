// The daily quota of log bytes of each organization. Stored bytes are counted in memory and written every
// few seconds, because a row per organization in the intake's transaction would make its lanes and nodes
// wait for each other. So several nodes together can exceed a quota by what they store in these seconds,
// and a node that is killed loses the count of them.
//
// A report over the quota is refused as a whole, before it is parsed. Its host keeps the entries and sends
// them again, so the log is late and has no gap.
import type { Refused } from "@hawser/host-protocol";
import type { Log } from "../log.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { addLogBytes } from "./log-quota-store.ts";

export interface LogQuota {
  /** Counts bytes that were stored. */
  count(organizationId: string, bytes: number): void;
  /**
   * Returns the answer to a report if the organization's quota is used up, else undefined.
   * `storedLeft`: what is left of the quota according to the database.
   */
  refusal(host: QuotaHost, storedLeft: number): Refused | undefined;
  /** Writes what was counted since the last call. If that fails, the counts are kept. */
  flush(): Promise<void>;
}

export interface QuotaHost {
  organizationId: string;
  /** The instance's id as callers see it. */
  shownId: string;
}

interface LogQuotaParts {
  system: SystemSql;
  /** Called when a host's reports begin or cease to be refused: its instance shows it as a warning. */
  changed: (host: QuotaHost) => void;
  /** Called for each refused report. */
  countRefusal: () => void;
  log: Log;
}

/** Not the time until midnight: a quota that the operator raises applies within minutes. */
const retryAfterMs = 5 * 60_000;

export function createLogQuota({ system, changed, countRefusal, log }: LogQuotaParts): LogQuota {
  let counts = new Map<string, number>();
  const refusedHosts = new Set<string>();
  /** The day on which each organization's refusal was last logged. */
  const loggedOn = new Map<string, string>();

  const count = (organizationId: string, bytes: number) =>
    void counts.set(organizationId, (counts.get(organizationId) ?? 0) + bytes);

  async function flush(): Promise<void> {
    if (counts.size === 0) return;
    const written = counts;
    counts = new Map();
    try {
      await system.rows(addLogBytes, [...written.keys()], [...written.values()]);
    } catch (error) {
      for (const [organizationId, bytes] of written) count(organizationId, bytes);
      throw error;
    }
  }

  function logOnceADay(organizationId: string): void {
    const day = new Date().toISOString().slice(0, 10);
    if (loggedOn.get(organizationId) === day) return;
    loggedOn.set(organizationId, day);
    log.warn(
      { organizationId },
      "an organization has used up its log bytes of the day; its hosts' reports are refused",
    );
  }

  /** Writes the counts first, because readers of the instance see only what is written. */
  async function showWarning(host: QuotaHost): Promise<void> {
    await flush().catch((error: unknown) =>
      log.warn({ err: error }, "counted log bytes could not be written"),
    );
    changed(host);
  }

  return {
    count,
    refusal(host, storedLeft) {
      const { organizationId, shownId } = host;
      if (storedLeft > (counts.get(organizationId) ?? 0)) {
        if (refusedHosts.delete(shownId)) changed(host);
        return undefined;
      }
      countRefusal();
      logOnceADay(organizationId);
      if (!refusedHosts.has(shownId)) {
        refusedHosts.add(shownId);
        void showWarning(host);
      }
      return { refused: "quota_exceeded", retryAfterMs };
    },
    flush,
  };
}
