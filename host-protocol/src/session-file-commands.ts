// What the control plane asks of a host about the files of its sessions, and the way back to them.
import {
  AgentKind,
  AgentPolicy,
  Capability,
  FileChange,
  ModelChoice,
  ParkedSession,
  SessionId,
} from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";

/** In whose name a session's agent commits, in a worktree of its own. */
export const Author = z.strictObject({ name: z.string().min(1), email: z.string().min(1) });

export const sessionFileCommands = {
  diff_session: {
    effect: "reads",
    payload: z.strictObject({ sessionId: SessionId }),
    result: z.strictObject({ files: z.array(FileChange), truncated: z.boolean() }),
    deadlineMs: 25_000,
    refusals: ["not_found", "not_a_repository"],
  },
  /** `hash` is that of the page before, whose patch this one goes on with. */
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
  /** Makes a session of the worktree or the clone that `parkedId` left. */
  restore_session: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      parkedId: SessionId,
      policy: AgentPolicy,
      author: Author.nullable(),
    }),
    result: z.strictObject({
      kind: AgentKind,
      title: z.string().nullable(),
      directory: z.string(),
      worktreeBranch: z.string().nullable(),
      model: ModelChoice.nullable(),
      capabilities: z.array(Capability),
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
