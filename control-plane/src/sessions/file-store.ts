// The SQL of sessions' files: the changes that hosts last reported, and what is needed to restore a
// session.
import type {
  AgentKind,
  AgentPolicy,
  FileChange,
  InstanceStatus,
  SessionMode,
  TrustedRepository,
} from "@hawser/contract";
import { statement } from "../postgres/statement.ts";

/** No row if the session was deleted in the meantime. */
export const keepDiff = statement<{ taken_at: string }>(
  `INSERT INTO session_diffs (organization_id, session_id, files, truncated)
   SELECT organization_id, session_id, $3, $4 FROM sessions
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
   ON CONFLICT (organization_id, session_id)
     DO UPDATE SET files = excluded.files, truncated = excluded.truncated, taken_at = hawser_now()
   RETURNING taken_at`,
);

export const selectDiff = statement<{ files: FileChange[]; truncated: boolean; taken_at: string }>(
  `SELECT files, truncated, taken_at FROM session_diffs
    WHERE organization_id = $1 AND session_id = $2`,
);

export interface FormerRow {
  instance_id: string;
  title: string | null;
  agent_kind: AgentKind;
  directory: string | null;
  instance_status: InstanceStatus;
  policy: AgentPolicy;
  trusted_repositories: TrustedRepository[];
  default_mode: SessionMode;
  highest_mode: SessionMode;
}

/** Includes deleted sessions, because the host may still have their files. */
export const selectFormer = statement<FormerRow>(
  `SELECT s.instance_id, s.title, s.agent_kind, s.directory, i.status AS instance_status,
          o.default_agent_policy AS policy, o.trusted_repositories, o.default_mode, o.highest_mode
     FROM sessions s
     JOIN instances i ON i.organization_id = s.organization_id AND i.instance_id = s.instance_id
     JOIN organizations o ON o.organization_id = s.organization_id
    WHERE s.organization_id = $1 AND s.session_id = $2 AND i.deleted_at IS NULL`,
);
