// The SQL of exposures: what callers see and change, and what nodes read to let requests pass.
import type { Caller, SessionMode } from "@hawser/contract";
import { statement, systemStatement } from "../postgres/statement.ts";

export interface ExposureRow {
  exposure_id: string;
  instance_id: string;
  session_id: string | null;
  /** The port of a session's server; null for opencode. */
  preview_port: number | null;
  created_by: Caller;
  created_at: string;
  expires_at: string;
  last_used_at: string | null;
}

/** An exposure as a node needs it for a request. */
export interface OpenExposureRow {
  organization_id: string;
  exposure_id: string;
  instance_id: string;
  session_id: string | null;
  preview_port: number | null;
  password_hash: Buffer;
  api_key_id: string;
  expires_at: string;
  /** The loopback port of its address. */
  port: number | null;
  /** The widest mode that the organization allows. */
  highest_mode: SessionMode;
}

const columns = `e.exposure_id, e.instance_id, e.session_id, e.preview_port, e.created_by, e.created_at, e.expires_at,
          e.last_used_at`;

/** An exposure ends with its time, its session, its host and by a call of revoke_exposure. */
const isActive = `e.revoked_at IS NULL AND e.expires_at > hawser_now()
      AND EXISTS (SELECT FROM instances i
                   WHERE i.organization_id = e.organization_id AND i.instance_id = e.instance_id
                     AND i.deleted_at IS NULL)
      AND (e.session_id IS NULL OR EXISTS (
            SELECT FROM sessions s
             WHERE s.organization_id = e.organization_id AND s.session_id = e.session_id
               AND s.deleted_at IS NULL AND s.status NOT IN ('ended', 'cleanup_failed')))`;

/** $2 instance. The newest first. */
export const selectExposures = statement<ExposureRow>(
  `SELECT ${columns} FROM exposures e
    WHERE e.organization_id = $1 AND e.instance_id = $2 AND ${isActive} ORDER BY e.exposure_id DESC`,
);

/** $2 instance. Locks it: of two calls that add an exposure, the later one counts the earlier. */
export const lockInstance = statement<{ instance_id: string }>(
  `SELECT instance_id FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
);

export const countExposures = statement<{ exposures: number }>(
  `SELECT count(*) AS exposures FROM exposures e
    WHERE e.organization_id = $1 AND e.instance_id = $2 AND ${isActive}`,
);

/**
 * $2 instance, $3 session or null, $4 port of the session's server or null, $5 hash, $6 the caller's key, $7 who that
 * is, $8 port of its address or null, $9 minutes.
 */
export const insertExposure = statement<ExposureRow>(
  `INSERT INTO exposures AS e (organization_id, instance_id, session_id, preview_port, password_hash, api_key_id,
                               created_by, port, created_at, expires_at)
   SELECT $1, $2, $3, $4, $5, $6, $7, $8, now, now + make_interval(mins => $9)
     FROM hawser_now() AS now RETURNING ${columns}`,
);

/** $2 exposure. No row if it is not active. */
export const revokeExposure = statement<{ exposure_id: string }>(
  `UPDATE exposures e SET revoked_at = hawser_now()
    WHERE e.organization_id = $1 AND e.exposure_id = $2 AND ${isActive} RETURNING e.exposure_id`,
);

const openColumns = `e.organization_id, e.exposure_id, e.instance_id, e.session_id, e.preview_port, e.password_hash,
          e.api_key_id, e.expires_at, e.port, o.highest_mode`;

/** $1 exposures. */
export const selectOpen = systemStatement<OpenExposureRow>(
  "read exposures that requests are for",
  `SELECT ${openColumns} FROM exposures e JOIN organizations o ON o.organization_id = e.organization_id
    WHERE e.exposure_id = ANY ($1::uuid[]) AND ${isActive}`,
);

/** Exposures whose address is a loopback port. */
export const selectPorts = systemStatement<{ exposure_id: string; port: number }>(
  "read the loopback ports of exposures",
  `SELECT e.exposure_id, e.port FROM exposures e WHERE e.port IS NOT NULL AND ${isActive}`,
);

/** $1 exposures, whose keys may not edit sessions any more. */
export const revokeWithoutRight = systemStatement(
  "revoke exposures whose creator has lost the permission",
  `UPDATE exposures SET revoked_at = hawser_now() WHERE exposure_id = ANY ($1::uuid[]) AND revoked_at IS NULL`,
);

/** $1 exposures, in order; $2 whether a request with the right password was made. Returns who created each. */
export const noteUse = systemStatement<
  Pick<OpenExposureRow, "exposure_id" | "api_key_id"> & { created_by: Caller }
>(
  "record when exposures were used",
  `UPDATE exposures e SET last_used_at = CASE WHEN used.admitted THEN hawser_now() ELSE e.last_used_at END
     FROM (SELECT e.organization_id, e.exposure_id, u.admitted
             FROM unnest($1::uuid[], $2::boolean[]) AS u (exposure_id, admitted)
             JOIN exposures e ON e.exposure_id = u.exposure_id
            ORDER BY e.exposure_id FOR NO KEY UPDATE OF e) AS used
    WHERE e.organization_id = used.organization_id AND e.exposure_id = used.exposure_id
   RETURNING e.exposure_id, e.api_key_id, e.created_by`,
);

/** Removes some at a time. */
export const deleteOldExposures = systemStatement<{ exposure_id: string }>(
  "remove old exposures",
  `DELETE FROM exposures
    WHERE (organization_id, exposure_id) IN (
          SELECT organization_id, exposure_id FROM exposures
           WHERE expires_at < hawser_now() - interval '30 days' LIMIT 1000)
   RETURNING exposure_id`,
);
