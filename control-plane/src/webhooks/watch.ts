// Counts the events that wait, for metrics, switches off webhooks for which too many wait, and removes what waits for
// deleted ones. One node does it for all. Counting at each event would make every event as expensive as the queue is long.
import type { Log } from "../log.ts";
import type { SystemSql } from "../postgres/statement.ts";
import {
  countWaiting,
  deleteOrphanedDeliveries,
  mostWaiting,
  switchOffFull,
} from "./delivery-store.ts";

export interface WaitingDeliveries {
  waiting: number;
  oldestSeconds: number;
}

export async function watchWebhooks(
  system: SystemSql,
  show: (waiting: WaitingDeliveries) => void,
  log: Log,
  most = mostWaiting,
): Promise<void> {
  for (const { webhook_id } of await system.rows(switchOffFull, most)) {
    log.warn({ webhookId: webhook_id }, "a webhook was switched off, because too many events wait");
  }
  while ((await system.rows(deleteOrphanedDeliveries)).length > 0);
  const counted = await system.first(countWaiting);
  show({ waiting: counted!.waiting, oldestSeconds: counted!.oldest_seconds });
}
