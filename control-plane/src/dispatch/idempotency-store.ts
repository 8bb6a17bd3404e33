// The SQL of idempotency rows. A key has at most one valid row, found by organization, API key, action and
// the hash of the idempotency key. A change of the row also names its command id, which names its
// partition. The holder of the highest fence may finish it.
import { statement } from "../postgres/statement.ts";

export interface IdempotencyRow {
  body_hmac: Buffer;
  command_id: string;
  intent: Buffer | null;
  state: "running" | "done";
  fence: number;
  lapsed: boolean;
  outcome: Buffer | null;
}

/**
 * $1 hash of the key. Waits for every other transaction that has locked the key. It must be a statement
 * of its own before the row is looked for: a statement does not see what was committed while it waited.
 */
export const lockKey = statement(
  `SELECT pg_advisory_xact_lock(('x' || encode(substring($1::bytea FROM 1 FOR 8), 'hex'))::bit(64)::bigint)`,
);

const valid = `organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4 AND expires_at > hawser_now()`;

/** Returns the command id if the row is new; no row if it exists. The key must be locked. */
export const insertRow = statement<{ command_id: string; fence: number }>(
  `INSERT INTO idempotency
     (organization_id, api_key_id, action, key_hash, body_hmac, state, lease_until, expires_at)
   SELECT $1, $2, $3, $4, $5, 'running', hawser_now() + make_interval(secs => $6), hawser_now() + interval '24 hours'
    WHERE NOT EXISTS (SELECT FROM idempotency WHERE ${valid})
   RETURNING command_id, fence`,
);

export const selectRow = statement<IdempotencyRow>(
  `SELECT body_hmac, command_id, intent, state, fence, lease_until < hawser_now() AS lapsed, outcome
     FROM idempotency
    WHERE ${valid}`,
);

const thisRow = `organization_id = $1 AND api_key_id = $2 AND action = $3 AND key_hash = $4 AND command_id = $5`;

export const saveIntent = statement(`UPDATE idempotency SET intent = $6 WHERE ${thisRow}`);

/** Takes over a call whose node has stopped renewing its lease. If several try, exactly one gets the row. */
export const takeOver = statement<IdempotencyRow>(
  `UPDATE idempotency SET fence = fence + 1, lease_until = hawser_now() + make_interval(secs => $7)
    WHERE ${thisRow} AND fence = $6 AND state = 'running' AND lease_until < hawser_now()
   RETURNING body_hmac, command_id, intent, state, fence, false AS lapsed, outcome`,
);

/**
 * Releases a call, so that a retry need not wait. The fence increases, or a renewal that is under way
 * would claim the call again.
 */
export const releaseLease = statement(
  `UPDATE idempotency SET lease_until = hawser_now() - interval '1 second', fence = fence + 1
    WHERE ${thisRow} AND fence = $6 AND state = 'running'`,
);

/** Returns a row if this fence still holds the call. */
export const renewLease = statement<{ fence: number }>(
  `UPDATE idempotency SET lease_until = hawser_now() + make_interval(secs => $7)
    WHERE ${thisRow} AND fence = $6 AND state = 'running'
   RETURNING fence`,
);

/** Returns a row if this fence could still finish the call. */
export const finishRow = statement<{ fence: number }>(
  `UPDATE idempotency SET state = 'done', outcome = $7, lease_until = NULL, intent = NULL
    WHERE ${thisRow} AND fence = $6 AND state = 'running'
   RETURNING fence`,
);
