// The SQL of what hosts say by themselves. It runs as hawser_system: the fabric has proven which host
// speaks, and the host does not know its organization.
import { systemStatement } from "../postgres/statement.ts";

export interface SpeakingHost {
  organization_id: string;
  instance_id: string;
  host_key: string;
  machine_id: string | null;
  connections: number;
}

/** Nothing for an instance that is gone, or that no host is paired with. */
export const selectHost = systemStatement<SpeakingHost>(
  "find the host that speaks",
  `SELECT i.organization_id, i.instance_id, i.host_key, i.machine_id,
          (SELECT count(*) FROM host_connections c
            WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id) AS connections
     FROM host_keys k
     JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
    WHERE k.instance_id = $1 AND k.revoked_at IS NULL AND i.host_key = k.public_key AND i.deleted_at IS NULL`,
);

export const noteHello = systemStatement(
  "keep what a host's hello says of it",
  `UPDATE instances
      SET machine_id = $3, journal_id = $4, boot_id = $5, host = $6, daemon_version = $7, agents = $8,
          roots = $9, code_hosting_cli = $10, last_seen_at = hawser_now(), status = 'online',
          status_reason = NULL, moving_since = NULL
    WHERE organization_id = $1 AND instance_id = $2`,
);

export const noteDuplicate = systemStatement(
  "show that two machines use one host's key",
  `UPDATE instances SET status_reason = 'duplicate_host'
    WHERE organization_id = $1 AND instance_id = $2 AND status = 'online'`,
);

/** Changes only: gives a row when the facts are others than before. */
export const noteFacts = systemStatement<{ instance_id: string }>(
  "keep the facts a host found",
  `UPDATE instances SET host = $3, daemon_version = $4, agents = $5, roots = $6, code_hosting_cli = $7
    WHERE organization_id = $1 AND instance_id = $2
      AND (host, daemon_version, agents, roots, code_hosting_cli)
          IS DISTINCT FROM ($3::jsonb, $4::text, $5::jsonb, $6::jsonb, $7::jsonb)
   RETURNING instance_id`,
);

/** Written at most every five minutes while a host is online. */
export const noteSeen = systemStatement(
  "note when a host was last heard",
  `UPDATE instances SET last_seen_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND last_seen_at < hawser_now() - interval '5 minutes'`,
);

export const noteStopped = systemStatement(
  "note that a daemon stops on purpose",
  `UPDATE instances SET stopped_boot_id = $3 WHERE organization_id = $1 AND instance_id = $2`,
);
