// Commands about the files of sessions: diffs, reverting and restoring.
import {
  AgentKind,
  AgentPolicy,
  Capability,
  FileChange,
  ModelChoice,
  ParkedSession,
  SessionGit,
  SessionId,
  SessionMode,
  TrustedPart,
  TrustedRepository,
} from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";
import { OwnerId } from "./identity-commands.ts";

/** Author of commits in a session's own worktree. */
export const Author = z.strictObject({ name: z.string().min(1), email: z.string().min(1) });

/** Hosts of earlier versions report neither of these. */
const HostFileChange = FileChange.extend({
  status: FileChange.shape.status.default(null),
  previousPath: FileChange.shape.previousPath.default(null),
  isBinary: FileChange.shape.isBinary.default(null),
});

export const sessionFileCommands = {
  diff_session: {
    effect: "reads",
    payload: z.strictObject({ sessionId: SessionId }),
    result: z.strictObject({ files: z.array(HostFileChange), truncated: z.boolean() }),
    deadlineMs: 25_000,
    refusals: ["not_found", "not_a_repository"],
  },
  read_session_git: {
    effect: "reads",
    payload: z.strictObject({ sessionId: SessionId }),
    result: SessionGit,
    deadlineMs: 25_000,
    refusals: ["not_found", "not_a_repository"],
  },
  /** `hash` is that of the previous page, whose patch this page continues. */
  diff_session_file: {
    effect: "reads",
    payload: z.strictObject({
      sessionId: SessionId,
      path: z.string(),
      offset: z.int().min(0),
      hash: z.string().optional(),
    }),
    result: z.strictObject({
      patch: z.string(),
      nextOffset: z.int().min(1).nullable(),
      hash: z.string(),
    }),
    deadlineMs: 25_000,
    refusals: ["not_found", "not_a_repository", "invalid_input"],
  },
  revert_session: {
    effect: "changes",
    payload: z.strictObject({ sessionId: SessionId, messageId: z.string() }),
    result: z.strictObject({}),
    deadlineMs: 28_000,
    refusals: ["not_found", "capability_missing", "turn_running", "session_ended"],
  },
  list_parked_sessions: {
    effect: "reads",
    payload: z.strictObject({}),
    result: z.strictObject({ parkedSessions: z.array(ParkedSession), truncated: z.boolean() }),
    deadlineMs: 20_000,
  },
  /** Makes a session from the worktree or clone that `parkedId` left. */
  restore_session: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      parkedId: SessionId,
      policy: AgentPolicy,
      mode: SessionMode.optional(),
      /** As for start_session. */
      trusted: z.array(TrustedRepository).optional(),
      author: Author.nullable(),
      ownerId: OwnerId.nullable().optional(),
    }),
    result: z.strictObject({
      kind: AgentKind,
      title: z.string().nullable(),
      directory: z.string(),
      worktreeBranch: z.string().nullable(),
      model: ModelChoice.nullable(),
      capabilities: z.array(Capability),
      /** The mode that it begins in, which the host's policy file may have narrowed. */
      mode: SessionMode.optional(),
      trustedParts: z.array(TrustedPart).optional(),
      ownerId: OwnerId.nullable().optional(),
    }),
    deadlineMs: 28_000,
    refusals: [
      "not_found",
      "agent_not_ready",
      "project_config_present",
      "already_exists",
      "journal_full",
    ],
  },
} as const satisfies Record<string, CommandKind>;
