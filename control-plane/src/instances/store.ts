// The SQL of instances and pairing tokens. Statements that run as hawser_system are system statements.
import type {
  InstanceDetail,
  InstanceStatus,
  InstanceStatusReason,
  RootListing,
} from "@hawser/contract";
import { statement, systemStatement } from "../postgres/statement.ts";
import { logBytesLeftSql } from "../session-log/log-quota-store.ts";

/** Locks the instance: of two tokens that are created at once, the later revokes the earlier. */
export const lockInstance = statement<{ instance_id: string }>(
  `SELECT instance_id FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL FOR UPDATE`,
);

export interface InstanceRow {
  instance_id: string;
  name: string;
  name_key: string;
  status: InstanceStatus;
  status_reason: InstanceStatusReason | null;
  host: InstanceDetail["host"];
  daemon_version: string | null;
  agents: InstanceDetail["agents"];
  active_session_count: number;
  last_seen_at: string | null;
  created_at: string;
}

export interface InstanceDetailRow extends InstanceRow {
  paired_at: string | null;
  roots: InstanceDetail["roots"];
  code_hosting_cli: InstanceDetail["codeHostingCli"];
  warnings: InstanceDetail["warnings"];
  operations: InstanceDetail["operations"];
  fallback_chain: InstanceDetail["fallbackChain"];
  fallback_threshold: number;
  log_quota_used_up: boolean;
}

const lastSeen = `(SELECT seen.last_seen_at FROM host_sightings seen
    WHERE seen.organization_id = instances.organization_id AND seen.instance_id = instances.instance_id)`;
const pairedAt = `(SELECT paired.created_at FROM host_keys paired
    WHERE paired.public_key = instances.host_key)`;
const columns = `instance_id, name, name_key, status, status_reason, host, daemon_version, agents,
  active_session_count, ${lastSeen} AS last_seen_at, created_at`;

export const insertInstance = statement<InstanceRow>(
  `INSERT INTO instances (organization_id, name) VALUES ($1, $2) RETURNING ${columns}`,
);

export const selectInstance = statement<InstanceDetailRow>(
  `SELECT ${columns}, ${pairedAt} AS paired_at, roots, code_hosting_cli, warnings, operations, fallback_chain, fallback_threshold,
          ${logBytesLeftSql("$1")} <= 0 AS log_quota_used_up
     FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL`,
);

/**
 * Instances by name: those whose name begins with $5, after the row ($2, $3), at most $4. U+10FFFF
 * sorts after every character that can follow in a name, so the prefix is a range of the index.
 */
function byName(narrowed: string) {
  return statement<InstanceRow>(
    `SELECT ${columns} FROM instances
      WHERE organization_id = $1 AND (name_key, instance_id) > ($2, $3::uuid)
        AND name_key >= lower($5) AND name_key < lower($5) || chr(1114111)
        AND deleted_at IS NULL ${narrowed}
      ORDER BY name_key, instance_id
      LIMIT $4`,
  );
}

export const selectByName = byName("");
export const selectByNameInStatus = byName("AND status = $6");

export const countInstances = statement<{ instance_count: number }>(
  `SELECT instance_count FROM organizations WHERE organization_id = $1`,
);

export const renameInstance = statement<InstanceRow>(
  `UPDATE instances SET name = $3
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
   RETURNING ${columns}`,
);

/** $3 entries, the preferred kind first; $4 percent. */
export const setFallbackChain = statement<{ instance_id: string }>(
  `UPDATE instances SET fallback_chain = $3::jsonb, fallback_threshold = $4
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
   RETURNING instance_id`,
);

/** Returns the key of the instance's host; null if the instance was never paired. */
export const deleteInstance = statement<{ host_key: string | null }>(
  `UPDATE instances SET deleted_at = hawser_now(), status_reason = 'revoked'
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
   RETURNING host_key`,
);

export const insertPairingToken = statement<{ expires_at: string }>(
  `INSERT INTO pairing_tokens (organization_id, instance_id, token_hash, expires_at)
   VALUES ($1, $2, $3, hawser_now() + interval '15 minutes')
   RETURNING expires_at`,
);

export const revokePairingTokens = statement(
  `UPDATE pairing_tokens SET revoked_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND revoked_at IS NULL AND redeemed_at IS NULL`,
);

/**
 * Redeems a token in one statement: of several concurrent attempts, the row lock lets only one see the
 * token unredeemed. With a check before the write, several could succeed.
 */
export const redeemPairingToken = systemStatement<{ organization_id: string; instance_id: string }>(
  "redeem a pairing token",
  `UPDATE pairing_tokens SET redeemed_at = hawser_now()
    WHERE token_hash = $1 AND redeemed_at IS NULL AND revoked_at IS NULL AND expires_at > hawser_now()
   RETURNING organization_id, instance_id`,
);

/** No row if the instance was deleted in the meantime. */
export const keepListing = statement<{ taken_at: string }>(
  `INSERT INTO directory_listings (organization_id, instance_id, roots)
   SELECT organization_id, instance_id, $3 FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
   ON CONFLICT (organization_id, instance_id)
     DO UPDATE SET roots = excluded.roots, taken_at = hawser_now()
   RETURNING taken_at`,
);

export const selectListing = statement<{ roots: RootListing[]; taken_at: string }>(
  `SELECT roots, taken_at FROM directory_listings WHERE organization_id = $1 AND instance_id = $2`,
);
