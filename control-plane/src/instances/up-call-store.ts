// The SQL of the calls that hosts make by themselves. It runs as hawser_system: the fabric has proven
// which host calls, and the host does not know its organization.
import { systemStatement } from "../postgres/statement.ts";
import { logBytesLeftSql } from "../session-log/log-quota-store.ts";

export interface SpeakingHost {
  organization_id: string;
  instance_id: string;
  host_key: string;
  machine_id: string | null;
  /** The journal of its last hello. */
  journal_id: string | null;
  connections: number;
  /** What is left of its organization's quota of log bytes today. */
  log_bytes_left: number;
}

/** $1 instances. No row if the instance was deleted or no host is paired with it. */
export const selectHosts = systemStatement<SpeakingHost>(
  "find the hosts that call",
  `SELECT i.organization_id, i.instance_id, i.host_key, i.machine_id, i.journal_id,
          (SELECT count(*) FROM host_connections c
            WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id) AS connections,
          ${logBytesLeftSql("i.organization_id")} AS log_bytes_left
     FROM host_keys k
     JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
    WHERE k.instance_id = ANY ($1::uuid[]) AND k.revoked_at IS NULL AND i.host_key = k.public_key AND i.deleted_at IS NULL`,
);

const isConnected = `EXISTS (SELECT FROM host_connections c
                    WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id)`;

/**
 * $1 is a JSON array of rows, one for each host. The host may have left since it sent the hello, so the status
 * follows the recorded connections. If the connection is recorded later, that shows the host online.
 */
export const noteHellos = systemStatement(
  "store the facts in hosts' hellos",
  `UPDATE instances i
      SET machine_id = received.machine_id, journal_id = received.journal_id, boot_id = received.boot_id,
          host = received.host, daemon_version = received.daemon_version, agents = received.agents,
          roots = received.roots, code_hosting_cli = received.code_hosting_cli, warnings = received.warnings,
          operations = received.operations,
          status = CASE WHEN ${isConnected} THEN 'online' ELSE i.status END,
          status_reason = CASE WHEN ${isConnected} THEN NULL ELSE i.status_reason END,
          moving_since = CASE WHEN ${isConnected} THEN NULL ELSE i.moving_since END
     FROM jsonb_to_recordset($1::jsonb) AS received (
            organization_id uuid, instance_id uuid, machine_id text, journal_id text, boot_id text,
            host jsonb, daemon_version text, agents jsonb, roots jsonb, code_hosting_cli jsonb,
            warnings jsonb, operations jsonb)
    WHERE i.organization_id = received.organization_id AND i.instance_id = received.instance_id`,
);

export const noteDuplicate = systemStatement(
  "show that two machines use one host's key",
  `UPDATE instances SET status_reason = 'duplicate_host'
    WHERE organization_id = $1 AND instance_id = $2 AND status = 'online'`,
);

/**
 * Returns a row only if the facts changed. Ignores the facts of an earlier start of the daemon; an old
 * daemon does not report which start it is.
 */
export const noteFacts = systemStatement<{ instance_id: string }>(
  "store the facts that a host reports",
  `UPDATE instances
      SET host = $3, daemon_version = $4, agents = $5, roots = $6, code_hosting_cli = $7, warnings = $8,
          operations = $9
    WHERE organization_id = $1 AND instance_id = $2 AND boot_id = coalesce($10, boot_id)
      AND (host, daemon_version, agents, roots, code_hosting_cli, warnings, operations)
          IS DISTINCT FROM
          ($3::jsonb, $4::text, $5::jsonb, $6::jsonb, $7::jsonb, $8::jsonb, $9::jsonb)
   RETURNING instance_id`,
);

export const noteStopped = systemStatement(
  "record that a daemon stops on purpose",
  `UPDATE instances SET stopped_boot_id = $3 WHERE organization_id = $1 AND instance_id = $2`,
);
