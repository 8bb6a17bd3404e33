// The SQL of forks.
import type {
  AgentPolicy,
  InstanceStatus,
  SessionActivity,
  SessionMode,
  TrustedRepository,
} from "@hawser/contract";
import { statement } from "../postgres/statement.ts";

export interface OriginalRow {
  instance_id: string;
  instance_status: InstanceStatus;
  title: string | null;
  directory: string | null;
  worktree_branch: string | null;
  activity: SessionActivity;
  mode: SessionMode;
  applied_seq: number;
  policy: AgentPolicy;
  trusted_repositories: TrustedRepository[];
  default_mode: SessionMode;
  highest_mode: SessionMode;
}

/** The session to fork, with its host and the organization's policy. */
export const selectOriginal = statement<OriginalRow>(
  `SELECT s.instance_id, i.status AS instance_status, s.title, s.directory, s.worktree_branch, s.activity,
          s.mode, s.applied_seq, o.default_agent_policy AS policy, o.trusted_repositories, o.default_mode,
          o.highest_mode
     FROM sessions s
     JOIN instances i ON i.organization_id = s.organization_id AND i.instance_id = s.instance_id
     JOIN organizations o ON o.organization_id = s.organization_id
    WHERE s.organization_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL AND i.deleted_at IS NULL`,
);

/** $2 fork, $3 original, $4 the last entry of the original's log that the fork's agent knows. */
export const setOriginal = statement(
  `UPDATE sessions SET forked_from = $3, forked_at_seq = $4
    WHERE organization_id = $1 AND session_id = $2`,
);

/** No row if the session was not forked, or if its original is deleted. */
export const selectFork = statement<{ forked_from: string; forked_at_seq: number }>(
  `SELECT s.forked_from, s.forked_at_seq
     FROM sessions s
     JOIN sessions original ON original.organization_id = s.organization_id
                           AND original.session_id = s.forked_from
    WHERE s.organization_id = $1 AND s.session_id = $2 AND s.forked_at_seq IS NOT NULL
      AND original.deleted_at IS NULL`,
);
