// Commands about sessions and the agents that serve them.
import {
  AgentKind,
  AgentKindRecord,
  AgentPolicy,
  type AskedQuestion,
  Capability,
  Fallback,
  FallbackEntry,
  LiveSession,
  ModelChoice,
  ModelListing,
  PermissionAnswer,
  RequestId,
  SessionCommand,
  SessionId,
  SessionMode,
  TrustedPart,
  TrustedRepository,
} from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";
import { OwnerId } from "./identity-commands.ts";
import { Author } from "./session-file-commands.ts";

const ofSession = z.strictObject({ sessionId: SessionId });
/** Who gives work to the session; null or undefined if no person does. */
const byOwner = { ownerId: OwnerId.nullable().optional() };
const Options = z.record(z.string(), z.string());

/** A message that the agent is still writing, from its beginning. */
export const OpenText = z.strictObject({
  itemId: z.string(),
  turnId: z.string().nullable(),
  /** `output` is that of a shell command; `itemId` is then its shellId. */
  kind: z.enum(["message", "thought", "output"]),
  text: z.string(),
});
export type OpenText = z.infer<typeof OpenText>;

/** Live text, published while someone watches: the next part of a message, from this character on. */
export const LiveText = z.strictObject({ ...OpenText.shape, offset: z.int().min(0) });
export type LiveText = z.infer<typeof LiveText>;

/** How long a host keeps publishing after the last command to watch. */
export const watchLeaseSeconds = 30;

/** A file of a prompt: a blob of the organization, or an address that the host reads. */
export const SentAttachment = z.strictObject({
  mime: z.string(),
  filename: z.string().nullable(),
  /** As callers name the file; undefined for an address. */
  fileId: z.string().optional(),
  from: z.union([
    z.strictObject({ sha256: z.string(), size: z.int().min(0) }),
    z.strictObject({ url: z.string() }),
  ]),
});
export type SentAttachment = z.infer<typeof SentAttachment>;

/** Result of a prompt, and of a command that runs as one. */
const takenTurn = {
  result: z.strictObject({
    turnId: z.string(),
    messageId: z.string(),
    queued: z.boolean(),
    model: ModelChoice.nullable(),
  }),
  deadlineMs: 28_000,
  refusals: [
    "invalid_input",
    "session_ended",
    "queue_full",
    "journal_full",
    "agent_not_ready",
    "project_config_present",
    "account_not_yours",
  ],
} as const;

/** An agent kind as a daemon reports it. Daemons of version 0.1.0 do not report what a prompt may name. */
const ReportedAgentKind = AgentKindRecord.partial({ variants: true, modes: true, commands: true });
export type ReportedAgentKind = z.infer<typeof ReportedAgentKind>;

export const sessionCommands = {
  /** Creates the session's working directory and the agent's own session, and writes the log's first entry. */
  start_session: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      kind: AgentKind,
      directory: z.string(),
      /** Default: true in a git repository, else false. */
      useWorktree: z.boolean().optional(),
      title: z.string().nullable(),
      providerId: z.string().optional(),
      modelId: z.string().optional(),
      options: Options.optional(),
      /** Which actions of the agent need a request. */
      policy: AgentPolicy,
      /** Default: ask. */
      mode: SessionMode.optional(),
      /** Repositories whose own configuration the agent may use; default: none. */
      trusted: z.array(TrustedRepository).optional(),
      /** The host's fallback chain; default: no fallback. Daemons of version 0.1.0 ignore it. */
      fallback: z
        .strictObject({ chain: z.array(FallbackEntry), threshold: z.int().min(1).max(100) })
        .optional(),
      /** Author of commits in the session's own worktree; default: the host's user. */
      author: Author.nullable().optional(),
      /** Whose agent account it uses, if that person has linked one; default: the host's own. */
      ownerId: OwnerId.nullable().optional(),
    }),
    result: z.strictObject({
      directory: z.string(),
      worktreeBranch: z.string().nullable(),
      model: ModelChoice.nullable(),
      capabilities: z.array(Capability),
      /** The mode that it begins in, which the host's policy file may have narrowed. */
      mode: SessionMode.optional(),
      /** What the agent uses of the repository's own configuration; default: nothing. */
      trustedParts: z.array(TrustedPart).optional(),
      /** The kind that runs it, if the wanted one was skipped. */
      taken: z.strictObject({ kind: AgentKind, fallback: Fallback }).optional(),
      /** Whose agent account it uses; null or undefined: the host's own. */
      ownerId: OwnerId.nullable().optional(),
    }),
    deadlineMs: 28_000,
    refusals: [
      "invalid_input",
      "not_found",
      "agent_not_ready",
      "not_a_repository",
      "project_config_present",
      "already_exists",
      "journal_full",
    ],
  },
  send_prompt: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      text: z.string(),
      model: ModelChoice.optional(),
      options: Options.optional(),
      agent: z.string().optional(),
      attachments: z.array(SentAttachment).optional(),
      highestMode: SessionMode.optional(),
      ...byOwner,
    }),
    ...takenTurn,
  },
  /** Runs one of the agent's slash commands, as a turn. */
  run_command: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      command: z.string(),
      arguments: z.string(),
      agent: z.string().optional(),
      highestMode: SessionMode.optional(),
      ...byOwner,
    }),
    ...takenTurn,
  },
  /** Condenses the earlier conversation, as a turn. */
  summarize_session: {
    effect: "changes",
    payload: ofSession.extend(byOwner),
    result: z.strictObject({ turnId: z.string() }),
    deadlineMs: 28_000,
    refusals: [
      "session_ended",
      "turn_running",
      "journal_full",
      "agent_not_ready",
      "account_not_yours",
    ],
  },
  /** Runs without the agent. The command's text is stored nowhere, not even on the host. */
  run_shell: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      command: z.string(),
      agent: z.string().optional(),
      ...byOwner,
    }),
    result: z.strictObject({ shellId: z.string() }),
    deadlineMs: 20_000,
    refusals: [
      "invalid_input",
      "session_ended",
      "turn_running",
      "journal_full",
      "agent_not_ready",
      "account_not_yours",
    ],
  },
  abort_turn: {
    effect: "changes",
    payload: ofSession,
    result: z.strictObject({ aborted: z.boolean(), droppedPrompts: z.int().min(0) }),
    deadlineMs: 20_000,
  },
  /** Stops the turn, ends the agent's session, and parks the worktree. Succeeds for an unknown session too. */
  end_session: {
    effect: "changes",
    payload: ofSession,
    result: z.strictObject({}),
    deadlineMs: 25_000,
  },
  /** Delivers an answer. `answered` means that the agent has accepted it. */
  answer_request: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      requestId: RequestId,
      shownHash: z.string(),
      /** Answer to a permission; `reject` also dismisses a question. */
      answer: PermissionAnswer.nullable(),
      answers: z.array(z.array(z.string())).nullable(),
      ...byOwner,
    }),
    result: z.strictObject({
      status: z.enum(["answered", "already_resolved", "undeliverable"]),
    }),
    deadlineMs: 5_000,
    refusals: ["account_not_yours"],
  },
  /** Holds for the agent's next call. */
  set_session_mode: {
    effect: "changes",
    payload: z.strictObject({ sessionId: SessionId, mode: SessionMode, ...byOwner }),
    result: z.strictObject({}),
    deadlineMs: 5_000,
    refusals: ["session_ended", "mode_not_allowed", "account_not_yours"],
  },
  /** Chooses who may prompt the session besides the owner of its account, who alone may choose. */
  share_session: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      ownerId: OwnerId,
      /** Replaces the earlier choice; null: every person. */
      guests: z.array(OwnerId).nullable(),
    }),
    result: z.strictObject({}),
    deadlineMs: 5_000,
    refusals: ["session_ended", "account_not_yours"],
  },
  rename_session: {
    effect: "changes",
    payload: z.strictObject({ sessionId: SessionId, title: z.string() }),
    result: z.strictObject({}),
    deadlineMs: 5_000,
  },
  /** Someone watches: live text is published until the lease ends. */
  watch_session: {
    effect: "reads",
    payload: ofSession,
    result: z.strictObject({ open: z.array(OpenText) }),
    deadlineMs: 5_000,
  },
  describe_session: {
    effect: "reads",
    payload: ofSession,
    result: LiveSession,
    deadlineMs: 5_000,
    refusals: ["not_found"],
  },
  /** Slash commands of the session's agent, at most 500. */
  list_session_commands: {
    effect: "reads",
    payload: ofSession,
    result: z.strictObject({ commands: z.array(SessionCommand) }),
    deadlineMs: 20_000,
    refusals: [
      "not_found",
      "capability_missing",
      "session_ended",
      "agent_not_ready",
      "project_config_present",
    ],
  },
  list_models: {
    effect: "reads",
    payload: z.strictObject({ kind: AgentKind }),
    result: ModelListing,
    deadlineMs: 20_000,
    refusals: ["agent_not_ready"],
  },
  list_agent_kinds: {
    effect: "reads",
    payload: z.strictObject({}),
    result: z.strictObject({ agentKinds: z.array(ReportedAgentKind) }),
    deadlineMs: 20_000,
  },
  /** Ends the kind's processes. Its sessions are detached and resume with their next prompt. */
  restart_agent: {
    effect: "changes",
    payload: z.strictObject({ kind: AgentKind }),
    result: z.strictObject({ detachedSessionIds: z.array(SessionId) }),
    deadlineMs: 25_000,
    refusals: ["agent_not_ready"],
  },
} as const satisfies Record<string, CommandKind>;

/**
 * What is wrong with the labels of an answer; undefined if they fit the questions. The control plane and the
 * daemon both check with this function, for every agent kind.
 */
export function objectToAnswers(
  questions: readonly AskedQuestion[],
  answers: readonly (readonly string[])[],
): string | undefined {
  if (answers.length !== questions.length) {
    return `must have one list for each of the ${questions.length} questions`;
  }
  for (const [place, { options, multiple, freeText }] of questions.entries()) {
    const given = answers[place]!;
    if (!multiple && given.length > 1) return `must have one label for question ${place + 1}`;
    if (given.some((label) => label.trim() === "")) {
      return `must not have an empty label for question ${place + 1}`;
    }
    const labels = options.map(({ label }) => label);
    if (!freeText && given.some((label) => !labels.includes(label))) {
      return `has a label that question ${place + 1} does not offer; it offers ${labels.join(", ")}`;
    }
  }
  return undefined;
}
