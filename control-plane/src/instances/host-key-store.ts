// The SQL of host keys: which machine an instance is paired with, and which it was before.
//
// Transactions lock in this order: sessions by id, then the instance, then its tokens and keys. The
// intake of reports starts with sessions, and a changed session changes its instance.
import { statement, systemStatement } from "../postgres/statement.ts";
import { movedBySql, statusAfterSql } from "../sessions/lifecycle.ts";

export interface PairingRow {
  organization_id: string;
  instance_id: string;
  /** The key of the host that is paired now. */
  host_key: string | null;
  /** Why the token is not valid; null if it is. */
  refused: string | null;
}

export const selectPairing = systemStatement<PairingRow>(
  "find the instance that a pairing token is for",
  `SELECT t.organization_id, t.instance_id, i.host_key,
          CASE WHEN t.redeemed_at IS NOT NULL THEN 'redeemed before'
               WHEN t.revoked_at IS NOT NULL THEN 'revoked'
               WHEN t.expires_at <= hawser_now() THEN 'expired'
               WHEN i.deleted_at IS NOT NULL THEN 'instance deleted' END AS refused
     FROM pairing_tokens t
     JOIN instances i ON i.organization_id = t.organization_id AND i.instance_id = t.instance_id
    WHERE t.token_hash = $1`,
);

/** The sessions that a replaced machine puts in error. */
const sessionsNotOver = `organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
      AND ${movedBySql("host_replaced")}`;

export const lockSessionsNotOver = systemStatement<{ session_id: string }>(
  "lock the sessions of an instance that is paired again",
  `SELECT session_id FROM sessions WHERE ${sessionsNotOver} ORDER BY session_id FOR UPDATE`,
);

/** Also blocks new sessions, which refer to the instance. */
export const lockInstanceForPairing = systemStatement<{
  host_key: string | null;
  machine_id: string | null;
}>(
  "lock an instance while a host is paired with it",
  `SELECT host_key, machine_id FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL FOR UPDATE`,
);

/** No row if the key belongs to another instance or was revoked. */
export const insertHostKey = systemStatement<{ public_key: string }>(
  "store the key of a paired host",
  `INSERT INTO host_keys AS known
     (organization_id, instance_id, public_key, machine_id, token_expires_at, command_keys,
      token_signer)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (public_key) DO UPDATE
      SET machine_id = excluded.machine_id, command_keys = excluded.command_keys,
          token_signer = excluded.token_signer,
          token_expires_at = greatest(known.token_expires_at, excluded.token_expires_at)
    WHERE known.organization_id = excluded.organization_id
      AND known.instance_id = excluded.instance_id AND known.revoked_at IS NULL
   RETURNING public_key`,
);

export const revokeFormerKeys = systemStatement<{ public_key: string }>(
  "revoke the keys an instance had before it was paired again",
  `UPDATE host_keys SET revoked_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND public_key <> $3 AND revoked_at IS NULL
   RETURNING public_key`,
);

/** Forgets what the old host reported; the new host has not reported anything yet. */
export const setHost = systemStatement(
  "record which host an instance is paired with",
  `UPDATE instances
      SET host_key = $3, machine_id = $4, daemon_version = $5,
          journal_id = CASE WHEN host_key = $3 THEN journal_id END,
          boot_id = CASE WHEN host_key = $3 THEN boot_id END,
          stopped_boot_id = CASE WHEN host_key = $3 THEN stopped_boot_id END
    WHERE organization_id = $1 AND instance_id = $2`,
);

export const failSessionsOfReplacedHost = systemStatement(
  "show sessions in error whose machine was replaced",
  `UPDATE sessions
      SET status = ${statusAfterSql("host_replaced")}, status_reason = 'host_replaced', status_message = NULL,
          activity = 'idle', queued_turns = '{}', running_shells = '{}'
    WHERE ${sessionsNotOver}`,
);

export const selectHostKey = systemStatement<{ organization_id: string; instance_id: string }>(
  "find the instance of a host by its key",
  `SELECT k.organization_id, k.instance_id FROM host_keys k
     JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
    WHERE k.public_key = $1 AND k.revoked_at IS NULL AND i.deleted_at IS NULL`,
);

/** A host key whose revocation is on record. */
export interface RemovedHost {
  instance_id: string;
  public_key: string;
}

const removedHosts = `SELECT k.instance_id, k.public_key FROM host_keys k
     JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
    WHERE (k.revoked_at IS NOT NULL OR i.deleted_at IS NOT NULL)`;

export const selectRemovedKeys = systemStatement<RemovedHost>(
  "find the record of removed hosts by their keys",
  `${removedHosts} AND k.public_key = ANY ($1::text[])`,
);

/** Only the last host of an instance, which may be another than the one that calls. */
export const selectRemovedHostsOfInstances = systemStatement<RemovedHost>(
  "find the record of removed hosts by their instances",
  `${removedHosts} AND k.instance_id = ANY ($1::uuid[]) AND k.public_key = i.host_key`,
);

export const extendHostKey = systemStatement<{ public_key: string }>(
  "record the expiry of a host's newest token",
  `UPDATE host_keys SET token_expires_at = greatest(token_expires_at, $2), token_signer = $3
    WHERE public_key = $1 AND revoked_at IS NULL
   RETURNING public_key`,
);

export const revokeKeysOfInstance = statement(
  `UPDATE host_keys SET revoked_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND revoked_at IS NULL`,
);

const pairedHosts = `host_keys k
     JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
    WHERE k.revoked_at IS NULL AND i.deleted_at IS NULL`;

/** The stored form of the command keys that a host has pinned: their order does not matter. */
export const pinnedKeys = (keys: readonly string[]) => keys.toSorted().join(" ");

/**
 * Lets PostgreSQL plan the statements of this transaction for their values. It then sees that nearly all
 * hosts have the current keys, and reads only the others; a generic plan expects one host in two to lack
 * them, and reads all hosts.
 */
export const planForValues = systemStatement(
  "plan the search for hosts that lack keys for its values",
  `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`,
);

/** $1 pinned keys. Two ranges of an index, because no index finds unequal values. */
export const selectUnpinned = systemStatement<{ public_key: string; instance_id: string }>(
  "find connected hosts that have not pinned the command keys",
  `SELECT k.public_key, k.instance_id FROM ${pairedHosts} AND i.status = 'online'
      AND (k.command_keys < $1 OR k.command_keys > $1)`,
);

export const selectFormerTokens = systemStatement<{ public_key: string; instance_id: string }>(
  "find connected hosts whose token was signed by another key",
  `SELECT k.public_key, k.instance_id FROM ${pairedHosts} AND i.status = 'online'
      AND (k.token_signer < $1 OR k.token_signer > $1 OR k.token_signer IS NULL)`,
);

export const notePinned = systemStatement(
  "record which command keys a host has pinned",
  `UPDATE host_keys SET command_keys = $2 WHERE public_key = $1`,
);

export interface HostWithoutKey {
  instance_id: string;
  name: string;
  online: boolean;
}

export const selectHostsWithoutKey = systemStatement<HostWithoutKey>(
  "find hosts that have not pinned a command key",
  `SELECT i.instance_id, i.name, i.status = 'online' AS online FROM ${pairedHosts}
      AND $1 <> ALL (string_to_array(k.command_keys, ' '))
    ORDER BY online DESC, i.instance_id`,
);

/** Removes the hosts that accept no command from now on, so that they are not shown online. */
export const revokeHostsWithoutKey = systemStatement(
  "revoke hosts that have not pinned a command key",
  `WITH behind AS (
     SELECT k.public_key, i.organization_id, i.instance_id FROM ${pairedHosts}
        AND $1 <> ALL (string_to_array(k.command_keys, ' '))),
   revoked AS (
     UPDATE host_keys k SET revoked_at = hawser_now() FROM behind WHERE k.public_key = behind.public_key)
   UPDATE instances i SET status_reason = 'revoked' FROM behind
    WHERE i.organization_id = behind.organization_id AND i.instance_id = behind.instance_id
      AND i.status = 'offline'`,
);
