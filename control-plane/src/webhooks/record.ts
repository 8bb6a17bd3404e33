// Webhooks and deliveries as results show them.
import { formatId, type WebhookDelivery, type WebhookRecord } from "@hawser/contract";
import type { DeliveryRow, WebhookRow } from "./store.ts";

export function webhookRecord(row: WebhookRow): WebhookRecord {
  return {
    webhookId: formatId("webhook", row.webhook_id),
    name: row.name,
    url: row.url,
    events: row.events,
    enabled: row.enabled,
    disabledReason: row.disabled_reason,
    failingSince: row.failing_since,
    actsAs: row.acts_as,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}

export function deliveryRecord(row: DeliveryRow): WebhookDelivery {
  return {
    deliveryId: formatId("delivery", row.delivery_id),
    event: row.event,
    state: row.state,
    attempts: row.attempts,
    lastStatus: row.last_status,
    lastError: row.last_error,
    nextTryAt: row.next_try_at,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}
