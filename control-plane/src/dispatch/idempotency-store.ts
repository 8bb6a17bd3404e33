// The SQL of idempotency rows. A row is found by organization, API key, action and the hash of the
// idempotency key. The holder of the highest fence may finish it.
import { statement, systemStatement } from "../postgres/statement.ts";

export interface IdempotencyRow {
  body_hmac: Buffer;
  command_id: string;
  intent: Buffer | null;
  state: "running" | "done";
  fence: number;
  lapsed: boolean;
  outcome: Buffer | null;
}

/** Returns the command id if the row is new; no row if it exists. Waits for a transaction that is inserting it. */
export const insertRow = statement<{ command_id: string; fence: number }>(
  `INSERT INTO idempotency
     (organization_id, api_key_id, action, key_hash, body_hmac, command_id, state, lease_until, expires_at)
   VALUES ($1, $2, $3, $4, $5, hawser_new_id(), 'running',
           hawser_now() + make_interval(secs => $6), hawser_now() + interval '24 hours')
   ON CONFLICT (organization_id, api_key_id, action, key_hash) DO UPDATE
     SET body_hmac = excluded.body_hmac, command_id = excluded.command_id, intent = NULL, state = 'running',
         fence = idempotency.fence + 1, lease_until = excluded.lease_until, outcome = NULL,
         created_at = excluded.created_at, expires_at = excluded.expires_at
     WHERE idempotency.expires_at <= hawser_now()
   RETURNING command_id, fence`,
);

export const selectRow = statement<IdempotencyRow>(
  `SELECT body_hmac, command_id, intent, state, fence, lease_until < hawser_now() AS lapsed, outcome
     FROM idempotency
    WHERE organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4`,
);

export const saveIntent = statement(
  `UPDATE idempotency SET intent = $5
    WHERE organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4`,
);

/** Takes over a call whose node has stopped renewing its lease. If several try, exactly one gets the row. */
export const takeOver = statement<IdempotencyRow>(
  `UPDATE idempotency SET fence = fence + 1, lease_until = hawser_now() + make_interval(secs => $6)
    WHERE organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4
      AND fence = $5 AND state = 'running' AND lease_until < hawser_now()
   RETURNING body_hmac, command_id, intent, state, fence, false AS lapsed, outcome`,
);

/**
 * Releases a call, so that a retry need not wait. The fence increases, or a renewal that is under way
 * would claim the call again.
 */
export const releaseLease = statement(
  `UPDATE idempotency SET lease_until = hawser_now() - interval '1 second', fence = fence + 1
    WHERE organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4
      AND fence = $5 AND state = 'running'`,
);

/** Returns a row if this fence still holds the call. */
export const renewLease = statement<{ fence: number }>(
  `UPDATE idempotency SET lease_until = hawser_now() + make_interval(secs => $6)
    WHERE organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4
      AND fence = $5 AND state = 'running'
   RETURNING fence`,
);

/** Returns a row if this fence could still finish the call. */
export const finishRow = statement<{ fence: number }>(
  `UPDATE idempotency SET state = 'done', outcome = $6, lease_until = NULL, intent = NULL
    WHERE organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4
      AND fence = $5 AND state = 'running'
   RETURNING fence`,
);

/** Deletes a limited number at a time. */
export const deleteExpired = systemStatement(
  "drop idempotency rows whose day has passed",
  `DELETE FROM idempotency
    WHERE (organization_id, api_key_id, action, key_hash) IN (
      SELECT organization_id, api_key_id, action, key_hash FROM idempotency
       WHERE expires_at <= hawser_now() ORDER BY expires_at LIMIT 5000)`,
);
