// The SQL of webhooks, and of what callers see and ask of their deliveries.
import type { Caller, WebhookDelivery, WebhookEvent } from "@hawser/contract";
import { statement } from "../postgres/statement.ts";

export interface WebhookRow {
  webhook_id: string;
  name: string | null;
  url: string;
  events: WebhookEvent[];
  enabled: boolean;
  disabled_reason: string | null;
  failing_since: string | null;
  acts_as: Caller;
  created_by: Caller;
  created_at: string;
}

export interface DeliveryRow {
  delivery_id: string;
  event: WebhookDelivery["event"];
  state: WebhookDelivery["state"];
  attempts: number;
  last_status: number | null;
  last_error: WebhookDelivery["lastError"];
  next_try_at: string | null;
  created_at: string;
  ended_at: string | null;
}

const columns = `webhook_id, name, url, events, enabled, disabled_reason, failing_since, acts_as, created_by,
          created_at`;

/** The newest first. */
export const selectWebhooks = statement<WebhookRow>(
  `SELECT ${columns} FROM webhooks WHERE organization_id = $1 ORDER BY webhook_id DESC`,
);

export const selectWebhook = statement<WebhookRow>(
  `SELECT ${columns} FROM webhooks WHERE organization_id = $1 AND webhook_id = $2`,
);

/** Locks the webhook: no other transaction changes it before this one ends. */
export const lockWebhook = statement<WebhookRow>(
  `SELECT ${columns} FROM webhooks WHERE organization_id = $1 AND webhook_id = $2 FOR NO KEY UPDATE`,
);

/** Locks the organization: of two calls that add a webhook, the later one counts the earlier. */
export const lockOrganization = statement<{ organization_id: string }>(
  `SELECT organization_id FROM organizations WHERE organization_id = $1 FOR NO KEY UPDATE`,
);

export const countWebhooks = statement<{ webhooks: number }>(
  `SELECT count(*) AS webhooks FROM webhooks WHERE organization_id = $1`,
);

/** $2 name, $3 url, $4 events, $5 salt, $6 the caller's key, $7 who that is. */
export const insertWebhook = statement<WebhookRow>(
  `INSERT INTO webhooks (organization_id, name, url, events, salt, api_key_id, acts_as, created_by)
   VALUES ($1, $2, $3, $4::text[], $5, $6, $7, $7) RETURNING ${columns}`,
);

/**
 * $2 webhook, $3 name, $4 url, $5 events, $6 whether it is switched on, $7 whether the count of failures begins
 * again, $8 the caller's key, $9 who that is.
 */
export const updateWebhook = statement<WebhookRow>(
  `UPDATE webhooks
      SET name = $3, url = $4, events = $5::text[], enabled = $6, api_key_id = $8, acts_as = $9,
          disabled_reason = CASE WHEN $7 THEN NULL ELSE disabled_reason END,
          failing_since = CASE WHEN $7 THEN NULL ELSE failing_since END
    WHERE organization_id = $1 AND webhook_id = $2 RETURNING ${columns}`,
);

/** $2 webhook. What waits for a retry is tried now. */
export const retryNow = statement(
  `UPDATE webhook_deliveries SET try_at = hawser_now()
    WHERE (organization_id, webhook_id, delivery_id) IN (
          SELECT organization_id, webhook_id, delivery_id FROM webhook_deliveries
           WHERE organization_id = $1 AND webhook_id = $2 AND state = 'waiting' AND NOT behind AND holder IS NULL
             AND try_at > hawser_now() FOR NO KEY UPDATE SKIP LOCKED)`,
);

/** $2 webhook, $3 the new salt. */
export const rotateSecret = statement(
  `UPDATE webhooks SET previous_salt = salt, salt = $3, rotated_at = hawser_now()
    WHERE organization_id = $1 AND webhook_id = $2`,
);

export const deleteWebhook = statement<{ webhook_id: string }>(
  `DELETE FROM webhooks WHERE organization_id = $1 AND webhook_id = $2 RETURNING webhook_id`,
);

/** $2 the former key, $3 the new one, $4 its id as records show it. */
export const moveWebhooksToKey = statement(
  `UPDATE webhooks
      SET api_key_id = $3,
          acts_as = CASE WHEN acts_as->>'type' = 'organization_key'
                         THEN jsonb_set(acts_as, '{id}', to_jsonb($4::text)) ELSE acts_as END
    WHERE organization_id = $1 AND api_key_id = $2`,
);

const stateSql = `CASE WHEN d.state = 'waiting' AND d.holder IS NOT NULL THEN 'sending' ELSE d.state END`;

const deliveryColumns = `d.delivery_id, d.event, ${stateSql} AS state, d.attempts, d.last_status, d.last_error,
          CASE WHEN d.state = 'waiting' AND NOT d.behind AND d.holder IS NULL THEN d.try_at END AS next_try_at,
          d.created_at, d.ended_at`;

/** $2 webhook. A test has a chain of its own. */
export const insertTest = statement<DeliveryRow>(
  `INSERT INTO webhook_deliveries AS d (organization_id, webhook_id, delivery_id, event, subject_id, seq, facts,
                                        behind, try_at)
   SELECT $1, $2, made.id, 'test', made.id, 0, jsonb_build_object('webhookId', $2::uuid), false, hawser_now()
     FROM (SELECT hawser_new_id() AS id) made
   RETURNING ${deliveryColumns}`,
);

const newestDeliveries = (condition: string) =>
  statement<DeliveryRow>(
    `SELECT ${deliveryColumns} FROM webhook_deliveries d
      WHERE d.organization_id = $1 AND d.webhook_id = $2 AND d.delivery_id < $3::uuid ${condition}
      ORDER BY d.delivery_id DESC LIMIT $4`,
  );

/** Deliveries of the webhook $2 before $3, the newest first, at most $4. */
export const selectDeliveries = newestDeliveries("");

/** The same, in one state. */
export const selectDeliveriesIn: Record<WebhookDelivery["state"], typeof selectDeliveries> = {
  waiting: newestDeliveries(`AND d.state = 'waiting' AND d.holder IS NULL`),
  sending: newestDeliveries(`AND d.state = 'waiting' AND d.holder IS NOT NULL`),
  delivered: newestDeliveries(`AND d.state = 'delivered'`),
  failed: newestDeliveries(`AND d.state = 'failed'`),
};

/** $2 delivery. Locks it. A delivery whose webhook was deleted does not exist for callers. */
export const lockDelivery = statement<DeliveryRow & { webhook_id: string; enabled: boolean }>(
  `SELECT d.webhook_id, w.enabled, ${deliveryColumns}
     FROM webhooks w
     JOIN webhook_deliveries d ON d.organization_id = w.organization_id AND d.webhook_id = w.webhook_id
    WHERE w.organization_id = $1 AND d.organization_id = $1 AND d.delivery_id = $2
      FOR NO KEY UPDATE OF d`,
);

/** $2 webhook, $3 delivery. The attempts are counted again from the first. */
export const sendAgain = statement<DeliveryRow>(
  `UPDATE webhook_deliveries d
      SET state = 'waiting', behind = false, try_at = hawser_now(), attempts = 0, fence = d.fence + 1, ended_at = NULL
    WHERE d.organization_id = $1 AND d.webhook_id = $2 AND d.delivery_id = $3
   RETURNING ${deliveryColumns}`,
);
