// Removes what is no longer kept: expired periods of session logs, the audit trail and idempotency rows,
// interrupted uploads, files without use, old positions of notices, old login attempts, old runs of schedules, what was
// recorded to continue turns, old deliveries of webhooks, and old exposures. Run it on one node at a time.
import { deleteCutUploads } from "./blobs/store.ts";
import { deleteOldContinuations, deleteOldTurnKeys } from "./continuations/store.ts";
import { deleteOldPositions } from "./events/position-store.ts";
import { deleteOldExposures } from "./exposures/store.ts";
import { deleteUnusedBlobs, deleteUnusedFiles } from "./files/store.ts";
import { deleteOldLogins } from "./identities/store.ts";
import type { Log } from "./log.ts";
import { dropExpiredPartitions } from "./postgres/partitions.ts";
import { deleteOldRuns } from "./schedules/store.ts";
import { deleteOldDeliveries } from "./webhooks/delivery-store.ts";
import type { SystemSql, SystemStatement } from "./postgres/statement.ts";

/** Stops between two statements when `signal` aborts; the next run continues. */
export async function purge(system: SystemSql, log: Log, signal: AbortSignal): Promise<void> {
  for (const { partitioned, first_day } of await dropExpiredPartitions(system)) {
    log.info({ table: partitioned, firstDay: first_day }, "an expired period was removed");
  }
  const removals = [
    deleteCutUploads,
    deleteUnusedFiles,
    deleteUnusedBlobs,
    deleteOldPositions,
    deleteOldLogins,
    deleteOldRuns,
    deleteOldContinuations,
    deleteOldTurnKeys,
    deleteOldDeliveries,
    deleteOldExposures,
  ];
  for (const removeSome of removals) {
    await removeAll(system, removeSome, signal);
  }
}

/** Repeats a statement that removes some rows and returns them, until none is left or `signal` aborts. */
export async function removeAll(
  system: SystemSql,
  removeSome: SystemStatement<unknown>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await system.rows(removeSome)).length > 0);
}
