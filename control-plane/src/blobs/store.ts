// The SQL of blobs. The host's organization is known before any of it runs, so it runs as the tenant;
// only the removal of interrupted uploads runs across organizations.
import { statement, systemStatement } from "../postgres/statement.ts";

export interface BlobRow {
  blob_id: string;
  size: number;
}

export const selectBlob = statement<BlobRow>(
  `SELECT blob_id, size FROM blobs
    WHERE organization_id = $1 AND sha256 = $2 AND stored_at IS NOT NULL`,
);

/** Finds a blob that a host sends again, and keeps it even if a caller's file with the same bytes is removed. */
export const keepForever = statement<BlobRow>(
  `UPDATE blobs SET kept_until = NULL
    WHERE organization_id = $1 AND sha256 = $2 AND stored_at IS NOT NULL
   RETURNING blob_id, size`,
);

/**
 * Uses one statement, so that concurrent uploads cannot exceed the quota together. No row if the quota
 * is used up.
 */
export const useQuota = statement<{ bytes: number }>(
  `INSERT INTO blob_quotas AS used (organization_id, day, bytes)
   SELECT organization_id, (hawser_now() AT TIME ZONE 'UTC')::date, $2::bigint FROM organizations
    WHERE organization_id = $1 AND $2 <= blob_bytes_per_day
   ON CONFLICT (organization_id) DO UPDATE
      SET day = excluded.day,
          bytes = CASE WHEN used.day = excluded.day THEN used.bytes ELSE 0 END + excluded.bytes
    WHERE CASE WHEN used.day = excluded.day THEN used.bytes ELSE 0 END + excluded.bytes
          <= (SELECT blob_bytes_per_day FROM organizations WHERE organization_id = $1)
   RETURNING bytes`,
);

/** Returns quota that was reserved for bytes that did not arrive. No-op for another day. */
export const returnQuota = statement(
  `UPDATE blob_quotas SET bytes = greatest(bytes - $2, 0)
    WHERE organization_id = $1 AND day = (hawser_now() AT TIME ZONE 'UTC')::date`,
);

export const secondsToMidnight = statement<{ seconds: number }>(
  `SELECT ceil(extract(epoch FROM
            date_trunc('day', hawser_now(), 'UTC') + interval '1 day' - hawser_now()))::int AS seconds`,
);

export const insertBlob = statement<{ blob_id: string }>(
  `INSERT INTO blobs (organization_id, sha256, size) VALUES ($1, $2, $3) RETURNING blob_id`,
);

export const insertChunk = statement(
  `INSERT INTO blob_chunks (organization_id, blob_id, position, bytes) VALUES ($1, $2, $3, $4)`,
);

/**
 * Makes the blob visible. No row if the same blob was completed in the meantime, or if this one was
 * removed or its host's key was revoked.
 */
export const finishBlob = statement<{ blob_id: string }>(
  `UPDATE blobs b SET stored_at = hawser_now()
    WHERE organization_id = $1 AND blob_id = $2 AND stored_at IS NULL
      AND EXISTS (SELECT FROM host_keys
                   WHERE organization_id = $1 AND public_key = $3 AND revoked_at IS NULL)
   RETURNING blob_id`,
);

export const deleteBlob = statement(
  `DELETE FROM blobs WHERE organization_id = $1 AND blob_id = $2 AND stored_at IS NULL`,
);

/** Reads the chunk as base64, which is faster than the driver's conversion of bytes (decision 0022). */
export const selectChunk = statement<{ bytes: string }>(
  `SELECT encode(bytes, 'base64') AS bytes FROM blob_chunks
    WHERE organization_id = $1 AND blob_id = $2 AND position = $3`,
);

/** Removes uploads that are older than any upload may take, so their sender or node is gone. A few at a time. */
export const deleteCutUploads = systemStatement<{ blob_id: string }>(
  "remove interrupted uploads of blobs",
  `DELETE FROM blobs WHERE blob_id IN (
     SELECT blob_id FROM blobs
      WHERE stored_at IS NULL AND created_at < hawser_now() - interval '15 minutes'
      ORDER BY created_at LIMIT 20)
   RETURNING blob_id`,
);
