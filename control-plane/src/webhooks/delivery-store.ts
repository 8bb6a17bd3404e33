// The SQL of sending events. A delivery belongs to the node with the highest fence: the statement that ends an
// attempt names the fence, and is a no-op if another node has picked the delivery up since.
//
// Deliveries of one webhook and one subject form a chain, of which only the first is sent. A delivery that is not
// `behind` is a sign that its chain has work; which one is the first is decided when it is picked up.
import type { DeliveryError } from "@hawser/contract";
import { systemStatement } from "../postgres/statement.ts";
import type { StoredEvent } from "./message.ts";

/** A delivery that this node sends, with its webhook. */
export interface SendingRow extends StoredEvent {
  organization_id: string;
  webhook_id: string;
  subject_id: string;
  fence: number;
  attempts: number;
  url: string;
  salt: Buffer;
  /** Null if only one secret signs. */
  previous_salt: Buffer | null;
  api_key_id: string;
  /** The time of this attempt, by the clock of the database. */
  now_seconds: number;
  /** How long after its time it was picked up. */
  late_seconds: number;
}

/** Longer than an attempt may take. After this time another node sends the delivery. */
const lease = `hawser_now() + interval '30 seconds'`;
/**
 * When a delivery that was put behind is looked at again: the one before it may have ended in a transaction that
 * did not see it. No transaction lasts as long.
 */
const lookAgainAt = `hawser_now() + interval '15 seconds'`;

const isSign = `d.state = 'waiting' AND NOT d.behind`;
const isSame = (other: string) =>
  `d.organization_id = ${other}.organization_id AND d.webhook_id = ${other}.webhook_id
      AND d.delivery_id = ${other}.delivery_id`;

/**
 * $1 node. $2 webhooks of deliveries that the node sends, $3 how many, $4 most of one webhook. $5 organizations of
 * those deliveries, $6 how many, $7 most of one organization. $8 most, $9 most of organizations that the node sends
 * for already.
 *
 * Looks at each webhook with signs once, and at few of its deliveries, so that a long queue costs no more than a
 * short one. Organizations take turns, and so do the webhooks of each.
 */
export const pickUp = systemStatement<SendingRow>(
  "pick up deliveries of webhooks to send",
  `WITH RECURSIVE waiting AS (
     (SELECT d.organization_id, d.webhook_id FROM webhook_deliveries d
       WHERE ${isSign} ORDER BY d.organization_id, d.webhook_id LIMIT 1)
     UNION ALL
     SELECT later.organization_id, later.webhook_id FROM waiting
      CROSS JOIN LATERAL (
            SELECT d.organization_id, d.webhook_id FROM webhook_deliveries d
             WHERE ${isSign}
               AND (d.organization_id, d.webhook_id) > (waiting.organization_id, waiting.webhook_id)
             ORDER BY d.organization_id, d.webhook_id LIMIT 1) later),
   signs AS MATERIALIZED (
     SELECT w.organization_id, w.webhook_id, sign.delivery_id, sign.subject_id, sign.try_at,
            first.delivery_id AS first_id, first.seq AS first_seq, first.is_due,
            coalesce(held.deliveries, 0) AS held
       FROM waiting
       JOIN webhooks w ON w.organization_id = waiting.organization_id AND w.webhook_id = waiting.webhook_id
       LEFT JOIN unnest($2::uuid[], $3::int[]) AS held (webhook_id, deliveries) ON held.webhook_id = w.webhook_id
      CROSS JOIN LATERAL (
            SELECT d.delivery_id, d.subject_id, d.try_at FROM webhook_deliveries d
             WHERE d.organization_id = w.organization_id AND d.webhook_id = w.webhook_id
               AND ${isSign} AND d.try_at <= hawser_now()
             ORDER BY d.try_at LIMIT greatest(0, $4 - coalesce(held.deliveries, 0))) sign
      CROSS JOIN LATERAL (
            SELECT d.delivery_id, d.seq, d.behind OR d.try_at <= hawser_now() AS is_due FROM webhook_deliveries d
             WHERE d.webhook_id = w.webhook_id AND d.subject_id = sign.subject_id AND d.state = 'waiting'
             ORDER BY d.seq, d.delivery_id LIMIT 1) first
      WHERE w.enabled),
   not_first AS MATERIALIZED (
     SELECT d.organization_id, d.webhook_id, d.delivery_id
       FROM signs JOIN webhook_deliveries d ON ${isSame("signs")}
      WHERE signs.delivery_id <> signs.first_id
        AND d.state = 'waiting' AND d.subject_id = signs.subject_id AND d.holder IS NULL
        FOR UPDATE OF d SKIP LOCKED),
   put_behind AS (
     UPDATE webhook_deliveries d SET behind = true, try_at = ${lookAgainAt}
       FROM not_first WHERE ${isSame("not_first")}),
   chains AS (
     SELECT DISTINCT ON (webhook_id, subject_id) * FROM signs
      WHERE is_due ORDER BY webhook_id, subject_id, try_at),
   in_webhook AS (
     SELECT *, held + row_number() OVER (PARTITION BY webhook_id ORDER BY try_at) AS place_in_webhook
       FROM chains),
   in_organization AS (
     SELECT in_webhook.*, coalesce(of.deliveries, 0) + row_number() OVER (
              PARTITION BY in_webhook.organization_id ORDER BY place_in_webhook, try_at) AS turn
       FROM in_webhook
       LEFT JOIN unnest($5::uuid[], $6::int[]) AS of (organization_id, deliveries)
         ON of.organization_id = in_webhook.organization_id),
   free AS MATERIALIZED (
     SELECT d.organization_id, d.webhook_id, d.delivery_id,
            extract(epoch FROM hawser_now() - next.try_at)::float8 AS late_seconds
       FROM (SELECT *, row_number() OVER (ORDER BY turn) AS place FROM in_organization WHERE turn <= $7) AS next
       JOIN webhook_deliveries d ON d.organization_id = next.organization_id
                                AND d.webhook_id = next.webhook_id AND d.delivery_id = next.first_id
                                AND d.subject_id = next.subject_id AND d.seq = next.first_seq
      WHERE d.state = 'waiting' AND (d.behind OR d.try_at <= hawser_now())
        AND (next.turn = 1 OR next.place <= $9)
      ORDER BY next.turn LIMIT $8
        FOR UPDATE OF d SKIP LOCKED)
   UPDATE webhook_deliveries d SET holder = $1, fence = d.fence + 1, behind = false, try_at = ${lease}
     FROM free JOIN webhooks w ON w.organization_id = free.organization_id AND w.webhook_id = free.webhook_id
    WHERE ${isSame("free")}
   RETURNING d.organization_id, d.webhook_id, d.subject_id, d.delivery_id, d.fence, d.event, d.facts, d.created_at, d.attempts,
             w.url, w.salt, w.api_key_id,
             CASE WHEN w.rotated_at > hawser_now() - interval '24 hours' THEN w.previous_salt END AS previous_salt,
             floor(extract(epoch FROM hawser_now()))::bigint AS now_seconds, free.late_seconds`,
);

/** The end of an attempt, as JSON. */
export interface AttemptEnd {
  organization_id: string;
  webhook_id: string;
  subject_id: string;
  delivery_id: string;
  fence: number;
  status: number | null;
  error: DeliveryError | null;
  /** When it is tried again; null if it is delivered or given up. */
  retry_seconds: number | null;
}

const endsSql = `ends AS MATERIALIZED (
     SELECT * FROM jsonb_to_recordset($1::jsonb) AS e (
       organization_id uuid, webhook_id uuid, delivery_id uuid, fence bigint, status integer, error text,
       retry_seconds double precision))`;

/**
 * $1 ends. The condition is the holder, not the state: with the state PostgreSQL would read the index of all that
 * wait.
 */
export const endAttempts = systemStatement(
  "record the attempts to send events to webhooks",
  `WITH ${endsSql}
   UPDATE webhook_deliveries d
      SET state = CASE WHEN ends.error IS NULL THEN 'delivered'
                       WHEN ends.retry_seconds IS NULL THEN 'failed' ELSE 'waiting' END,
          attempts = d.attempts + 1, last_status = ends.status, last_error = ends.error, holder = NULL,
          try_at = hawser_now() + make_interval(secs => coalesce(ends.retry_seconds, 0)),
          ended_at = CASE WHEN ends.retry_seconds IS NULL THEN hawser_now() END
     FROM ends
    WHERE ${isSame("ends")} AND d.fence = ends.fence AND d.holder IS NOT NULL`,
);

/** $1 webhooks, $2 subjects of deliveries that have ended. Lets the first of each chain follow. */
export const releaseFirst = systemStatement<{ delivery_id: string }>(
  "release deliveries of webhooks whose predecessor has ended",
  `WITH first AS MATERIALIZED (
     SELECT next.* FROM (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[])) AS chain (webhook_id, subject_id)
      CROSS JOIN LATERAL (
            SELECT d.organization_id, d.webhook_id, d.delivery_id, d.behind FROM webhook_deliveries d
             WHERE d.webhook_id = chain.webhook_id AND d.subject_id = chain.subject_id AND d.state = 'waiting'
             ORDER BY d.seq, d.delivery_id LIMIT 1) next)
   UPDATE webhook_deliveries d SET behind = false, try_at = hawser_now()
     FROM first WHERE first.behind AND ${isSame("first")} AND d.behind
   RETURNING d.delivery_id`,
);

/** How long a webhook may fail until it is switched off. */
const longestFailing = `interval '3 days'`;
const failedForLong = `'No event could be delivered for 3 days. list_webhook_deliveries shows why. Fix the receiver, then switch the webhook on with update_webhook.'`;
const isGone = `'The receiver answered 410 Gone, which asks for no more events. To send events again, switch the webhook on with update_webhook.'`;

/**
 * $1 ends. Records since when webhooks fail, and switches off those that should not be tried any more. If a webhook
 * works again, what waits for a late retry is tried within a minute.
 */
export const noteHealth = systemStatement(
  "record which webhooks fail, and switch off dead ones",
  `WITH ${endsSql},
   health AS MATERIALIZED (
     SELECT organization_id, webhook_id, bool_or(error IS NULL) AS has_succeeded,
            coalesce(bool_or(status = 410), false) AS is_gone
       FROM ends GROUP BY organization_id, webhook_id),
   changed AS MATERIALIZED (
     SELECT w.organization_id, w.webhook_id, has_succeeded, is_gone,
            NOT has_succeeded AND coalesce(w.failing_since < hawser_now() - ${longestFailing}, false) AS is_dead
       FROM health JOIN webhooks w USING (organization_id, webhook_id)
      WHERE is_gone OR CASE WHEN has_succeeded THEN w.failing_since IS NOT NULL
                            ELSE w.failing_since IS NULL
                                 OR w.failing_since < hawser_now() - ${longestFailing} END
      ORDER BY w.organization_id, w.webhook_id FOR NO KEY UPDATE OF w),
   late AS MATERIALIZED (
     SELECT d.organization_id, d.webhook_id, d.delivery_id
       FROM changed JOIN webhook_deliveries d USING (organization_id, webhook_id)
      WHERE changed.has_succeeded AND ${isSign} AND d.holder IS NULL
        AND d.try_at > hawser_now() + interval '1 minute' FOR NO KEY UPDATE OF d SKIP LOCKED),
   sooner AS (
     UPDATE webhook_deliveries d SET try_at = hawser_now() + random() * interval '1 minute'
       FROM late WHERE ${isSame("late")})
   UPDATE webhooks w
      SET failing_since = CASE WHEN NOT changed.has_succeeded THEN coalesce(w.failing_since, hawser_now()) END,
          enabled = w.enabled AND NOT (changed.is_gone OR changed.is_dead),
          disabled_reason = CASE WHEN NOT w.enabled THEN w.disabled_reason
                                 WHEN changed.is_gone THEN ${isGone}
                                 WHEN changed.is_dead THEN ${failedForLong} END
     FROM changed
    WHERE w.organization_id = changed.organization_id AND w.webhook_id = changed.webhook_id`,
);

/** $1 organization, $2 webhook, $3 the key it acted with, $4 why it is switched off. */
export const switchOff = systemStatement(
  "switch off a webhook whose key may not see its events",
  `UPDATE webhooks SET enabled = false, disabled_reason = $4
    WHERE organization_id = $1 AND webhook_id = $2 AND api_key_id = $3 AND enabled`,
);

/** $1 organization, $2 webhook, $3 delivery, $4 fence. No attempt was made. */
export const giveBack = systemStatement(
  "give back a delivery of a webhook",
  `UPDATE webhook_deliveries SET holder = NULL, try_at = hawser_now()
    WHERE organization_id = $1 AND webhook_id = $2 AND delivery_id = $3 AND fence = $4 AND holder IS NOT NULL`,
);

/**
 * $1 most. Looks at deliveries that were put behind. One look is enough: whatever ends an earlier delivery after it
 * sees the one that was looked at.
 */
export const lookAgain = systemStatement<{ behind: boolean }>(
  "look again at deliveries of webhooks that wait for an earlier one",
  `WITH due AS MATERIALIZED (
     SELECT d.organization_id, d.webhook_id, d.delivery_id, d.subject_id, d.seq FROM webhook_deliveries d
      WHERE d.state = 'waiting' AND d.behind AND d.try_at <= hawser_now()
      ORDER BY d.try_at LIMIT $1 FOR UPDATE SKIP LOCKED)
   UPDATE webhook_deliveries d
      SET behind = earlier.waits, try_at = CASE WHEN earlier.waits THEN hawser_now() + interval '1 hour' ELSE hawser_now() END
     FROM due
    CROSS JOIN LATERAL (
          SELECT EXISTS (SELECT FROM webhook_deliveries e
                          WHERE e.webhook_id = due.webhook_id AND e.subject_id = due.subject_id
                            AND e.state = 'waiting'
                            AND (e.seq, e.delivery_id) < (due.seq, due.delivery_id)) AS waits) earlier
    WHERE ${isSame("due")} AND d.state = 'waiting' AND d.behind
   RETURNING d.behind`,
);

/** Deliveries of webhooks that are switched on. */
export const countWaiting = systemStatement<{ waiting: number; oldest_seconds: number }>(
  "count the events that wait for webhooks",
  `SELECT count(*) AS waiting,
          coalesce(extract(epoch FROM hawser_now() - min(d.created_at)), 0)::float8 AS oldest_seconds
     FROM webhook_deliveries d
     JOIN webhooks w ON w.organization_id = d.organization_id AND w.webhook_id = d.webhook_id AND w.enabled
    WHERE d.state = 'waiting'`,
);

/** Undelivered events of one webhook. */
export const mostWaiting = 100_000;
const tooMany = `'More than ${mostWaiting.toLocaleString("en")} events wait for the receiver. Events since then are not recorded. Fix the receiver, then switch the webhook on with update_webhook; it then gets the events that wait.'`;

/** $1 most. */
export const switchOffFull = systemStatement<{ webhook_id: string }>(
  "switch off webhooks for which too many events wait",
  `UPDATE webhooks w SET enabled = false, disabled_reason = ${tooMany}
     FROM (SELECT organization_id, webhook_id FROM webhook_deliveries
            WHERE state = 'waiting' GROUP BY organization_id, webhook_id HAVING count(*) > $1) AS counted
    WHERE w.organization_id = counted.organization_id AND w.webhook_id = counted.webhook_id AND w.enabled
   RETURNING w.webhook_id`,
);

/**
 * Removes some at a time: what waits for a webhook that was deleted. The search for deliveries to send looks at every
 * webhook that has one.
 */
export const deleteOrphanedDeliveries = systemStatement<{ delivery_id: string }>(
  "remove deliveries of deleted webhooks that wait",
  `DELETE FROM webhook_deliveries
    WHERE (organization_id, webhook_id, delivery_id) IN (
          SELECT d.organization_id, d.webhook_id, d.delivery_id FROM webhook_deliveries d
           WHERE d.state = 'waiting' AND NOT EXISTS (
                   SELECT FROM webhooks w WHERE w.organization_id = d.organization_id AND w.webhook_id = d.webhook_id)
           LIMIT 5000)
   RETURNING delivery_id`,
);

/** Removes some at a time. */
export const deleteOldDeliveries = systemStatement<{ delivery_id: string }>(
  "remove old deliveries of webhooks",
  `DELETE FROM webhook_deliveries
    WHERE (organization_id, webhook_id, delivery_id) IN (
          SELECT organization_id, webhook_id, delivery_id FROM webhook_deliveries
           WHERE created_at < hawser_now() - interval '30 days' LIMIT 1000)
   RETURNING delivery_id`,
);
