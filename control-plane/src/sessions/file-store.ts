// The SQL of sessions' files: the changes and commits that hosts last reported, pull requests, and what is needed to restore a
// session.
import type {
  AgentKind,
  AgentPolicy,
  FileChange,
  InstanceStatus,
  SessionGit,
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

/** As a version stored it, which may have known fewer fields. */
export type StoredChange = Pick<FileChange, "path" | "added" | "removed"> & Partial<FileChange>;

export const selectDiff = statement<{
  files: StoredChange[];
  truncated: boolean;
  taken_at: string;
}>(
  `SELECT files, truncated, taken_at FROM session_diffs
    WHERE organization_id = $1 AND session_id = $2`,
);

/** No row if the session was deleted in the meantime. */
export const keepGit = statement<GitRow>(
  `INSERT INTO session_git (organization_id, session_id, state, taken_at)
   SELECT organization_id, session_id, $3, hawser_now() FROM sessions
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
   ON CONFLICT (organization_id, session_id)
     DO UPDATE SET state = excluded.state, taken_at = excluded.taken_at
   RETURNING state, taken_at, pull_request_url`,
);

export interface GitRow {
  state: SessionGit | null;
  taken_at: string | null;
  pull_request_url: string | null;
}

export const selectGit = statement<GitRow>(
  `SELECT state, taken_at, pull_request_url FROM session_git
    WHERE organization_id = $1 AND session_id = $2`,
);

export const keepPullRequest = statement(
  `INSERT INTO session_git (organization_id, session_id, pull_request_url) VALUES ($1, $2, $3)
   ON CONFLICT (organization_id, session_id)
     DO UPDATE SET pull_request_url = excluded.pull_request_url`,
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
