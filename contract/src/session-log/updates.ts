// Contents of log entries, in terms of the Agent Client Protocol where it has one, else in our own. An
// entry is always complete: a whole message, the start of a tool call, or its end. Live text is sent
// beside the log and is never part of it.
import { z } from "zod";
import { RequestId, SessionId, UserId } from "../ids.ts";
import { received } from "../received.ts";
import { AgentKind, Capability, Fallback, ModelChoice } from "../records/agent-kind.ts";
import { AskedPermission, AskedQuestion, PermissionAnswer } from "../records/request.ts";
import { SessionMode } from "../records/session-mode.ts";
import { SessionStatus, Usage } from "../records/session.ts";
import { TrustedPart } from "../records/trusted-repository.ts";

const TextContent = z.strictObject({
  type: z.literal("text").meta({ description: "Always text." }),
  text: z.string().meta({ description: "The whole text." }),
});

/** In the log one chunk is the whole message. */
const message = {
  messageId: z.string().meta({ description: "Identifies the message in this session." }),
  content: TextContent.meta({ description: "Its text." }),
};

/** Output of a tool call. */
const ToolContent = z.union([
  z.strictObject({ type: z.literal("content"), content: TextContent }),
  /** A patch of at most 64 KiB, and the counts of the whole change; never whole files. */
  z.strictObject({
    type: z.literal("patch"),
    path: z.string(),
    patch: z.string(),
    added: z.int().min(0),
    removed: z.int().min(0),
  }),
]);
export type ToolContent = z.infer<typeof ToolContent>;

const attachment = z.strictObject({
  fileId: z.string().nullable().meta({
    description:
      "GET /api/files/{fileId} has its bytes until it was unused for seven days; null if the host read it elsewhere.",
  }),
  filename: z.string().nullable().meta({ description: "The name to show." }),
  mime: z.string().meta({ description: "The media type as its sender named it." }),
  size: z.int().min(0).nullable().meta({ description: "In bytes; null if not known." }),
});

const toolKinds = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "other",
] as const;

const ofSubAgent = {
  parentToolCallId: z.string().nullable().meta({
    description: "The tool call whose sub-agent wrote it; null for the session's own agent.",
  }),
};

const queuedTurn = {
  turnId: z.string().meta({ description: "The turn that the prompt would begin." }),
  messageId: z.string().meta({ description: "The prompt's message." }),
};

const shell = {
  shellId: z.string().meta({ description: "As run_shell returned it." }),
  agent: z.string().nullable().meta({
    description: "The mode that it was run for; null for the session's own.",
  }),
};

export const TurnOutcome = z.enum(["completed", "aborted", "failed", "interrupted"]).meta({
  description:
    "completed: the agent finished. aborted: somebody stopped it. failed: the agent or its model gave up. interrupted: the agent's process or the daemon went away; it is never run again.",
});
export type TurnOutcome = z.infer<typeof TurnOutcome>;

/** Every type of entry, with its fields. Readers must accept types that are added later. */
export const sessionUpdates = {
  user_message_chunk: z
    .strictObject({
      ...message,
      by: UserId.nullable()
        .meta({ description: "Who sent it; null if no user did. Older daemons do not send it." })
        .optional(),
      attachments: z.array(attachment).meta({ description: "The files sent with it." }).optional(),
    })
    .meta({ description: "A prompt, as it was sent to the agent." }),
  agent_message_chunk: z
    .strictObject({ ...message, ...ofSubAgent })
    .meta({ description: "A whole message of the agent." }),
  agent_thought_chunk: z
    .strictObject({ ...message, ...ofSubAgent })
    .meta({ description: "What the agent thought, if its model shows that." }),
  tool_call: z
    .strictObject({
      toolCallId: z.string().meta({ description: "Identifies the call in this session." }),
      title: z.string().meta({ description: "What the call does." }),
      kind: z.enum(toolKinds).meta({ description: "What kind of work it is." }),
      status: z.enum(["pending", "in_progress"]).meta({ description: "pending: not begun." }),
      rawInput: z.unknown().meta({ description: "The agent's own description of the call." }),
      ...ofSubAgent,
    })
    .meta({ description: "A tool call begins." }),
  tool_call_update: z
    .strictObject({
      toolCallId: z.string().meta({ description: "The `toolCallId` of its tool_call." }),
      title: z.string().meta({ description: "A better title, if there is one." }).optional(),
      status: z.enum(["completed", "failed"]).meta({ description: "How the call ended." }),
      content: z.array(ToolContent).meta({ description: "Its output." }),
      exitCode: z
        .int()
        .meta({ description: "How the command ended, if the agent reports it." })
        .optional(),
    })
    .meta({ description: "A tool call has ended." }),
  plan: z
    .strictObject({
      entries: z
        .array(
          z.strictObject({
            content: z.string().meta({ description: "What is to be done." }),
            priority: z.enum(["high", "medium", "low"]).meta({ description: "How urgent it is." }),
            status: z
              .enum(["pending", "in_progress", "completed"])
              .meta({ description: "How far it is." }),
          }),
        )
        .meta({ description: "The steps, in their order." }),
    })
    .meta({ description: "The agent's plan, which replaces the one before." }),
  usage_update: z
    .strictObject({
      usage: Usage,
      costUsd: z.number().min(0).nullable().meta({ description: "US dollars; null if unknown." }),
      costIsEstimate: z.boolean().meta({ description: "True if computed from a price table." }),
      context: z
        .strictObject({
          usedTokens: z.int().min(0).meta({ description: "Tokens of the newest model call." }),
          windowTokens: z.int().min(1).meta({ description: "How many the model can read." }),
        })
        .meta({ description: "How full the model's context is, if the agent reports it." })
        .optional(),
    })
    .meta({ description: "The session's totals so far." }),
  session_info_update: z
    .strictObject({ title: z.string().nullable().meta({ description: "The agent's title." }) })
    .meta({ description: "The agent has named the session." }),

  prompt_queued: z
    .strictObject({ ...queuedTurn, text: z.string().meta({ description: "The prompt." }) })
    .meta({ description: "A prompt waits for an earlier turn." }),
  prompt_changed: z
    .strictObject({ ...queuedTurn, text: z.string().meta({ description: "Its new text." }) })
    .meta({ description: "A prompt that waits has another text." }),
  prompt_moved: z
    .strictObject({
      ...queuedTurn,
      beforeMessageId: z
        .string()
        .nullable()
        .meta({ description: "The waiting prompt before which it now runs; null: the last." }),
    })
    .meta({ description: "A prompt that waits has another place in the queue." }),
  prompt_dropped: z
    .strictObject({
      ...queuedTurn,
      reason: z.string().meta({ description: "Why." }),
      // No list of words, as in turn_finished.
      cause: z
        .string()
        .meta({ description: "Why, as a stable word. `removed`: a caller removed it." })
        .optional(),
    })
    .meta({
      description:
        "A prompt is not run, because it was removed or because the turn before it was stopped.",
    }),
  turn_started: z
    .strictObject({
      messageId: z.string().meta({ description: "The prompt's message." }),
      model: ModelChoice.nullable().meta({ description: "Null if the agent decides." }),
      agent: z.string().nullable().meta({ description: "The agent's mode; null for its default." }),
    })
    .meta({ description: "A turn begins." }),
  turn_finished: z
    .strictObject({
      outcome: TurnOutcome,
      reason: z.string().nullable().meta({ description: "Why it did not complete." }),
      // No list of words: a node that does not know a word must still read the entry.
      cause: z
        .string()
        .meta({
          description: "Why it failed, as a stable word. `quota`: the account's is used up.",
        })
        .optional(),
    })
    .meta({ description: "A turn has ended." }),
  turn_continued: z
    .strictObject({
      sessionId: SessionId.meta({ description: "The session that continues it." }),
      kind: AgentKind,
    })
    .meta({
      description:
        "The turn failed because the quota of its account is used up, and a fork of the session continues it.",
    }),
  request_raised: z
    .strictObject({
      requestId: RequestId,
      type: z.enum(["permission", "question"]).meta({ description: "What the agent asks for." }),
      permission: AskedPermission.nullable().meta({ description: "Set for a permission." }),
      questions: z.array(AskedQuestion).nullable().meta({ description: "Set for a question." }),
      shownHash: z.string().meta({
        description:
          "Hash of the request as shown. An answer contains it, so it cannot apply to another request.",
      }),
      toolCallId: z.string().nullable().meta({ description: "The call that it is about." }),
      rule: z.string().meta({ description: "Why a person is asked." }).optional(),
    })
    .meta({ description: "The agent waits for a permission or an answer." }),
  call_decided: z
    .strictObject({
      toolCallId: z.string().nullable().meta({ description: "The call that it is about." }),
      answer: z.enum(["allow", "deny"]).meta({ description: "What was decided." }),
      rule: z.string().meta({ description: "The rule that decided." }),
      mode: SessionMode,
    })
    .meta({ description: "A call of the agent was allowed or denied without asking anybody." }),
  request_settled: z
    .strictObject({
      requestId: RequestId,
      outcome: z.enum(["answered", "withdrawn"]).meta({ description: "How it was settled." }),
      answer: PermissionAnswer.nullable().meta({ description: "Set for a permission." }),
      answers: z
        .array(z.array(z.string()))
        .nullable()
        .meta({ description: "Set for a question: the labels of each answer." }),
      reason: z.string().nullable().meta({ description: "Why it was withdrawn." }),
    })
    .meta({ description: "A request was answered, or the agent no longer asks." }),
  shell_started: z
    .strictObject(shell)
    .meta({ description: "A caller's shell command begins. Its text is stored nowhere." }),
  shell: z
    .strictObject({
      ...shell,
      exitCode: z
        .int()
        .nullable()
        .meta({ description: "Null if the command did not end by itself." }),
      output: z.string().meta({ description: "What it wrote, up to 4 MiB." }),
      reason: z.string().nullable().meta({ description: "Why it did not end by itself." }),
    })
    .meta({ description: "A caller's shell command has ended." }),
  mode_changed: z
    .strictObject({
      mode: SessionMode,
      reason: z.string().nullable().meta({ description: "Why, if no caller set the mode." }),
    })
    .meta({ description: "The session has another mode." }),
  rule_forgotten: z
    .strictObject({
      rule: z.string().meta({ description: "The rule." }),
      by: UserId.nullable().meta({ description: "Who forgot it; null if no user did." }),
    })
    .meta({ description: "A rule that the answer `always` had stored no longer applies." }),
  session_compacted: z.looseObject({}).meta({
    description:
      "The agent replaced the earlier conversation by a summary. The log keeps all of it.",
  }),
  session_status: z
    .strictObject({
      status: SessionStatus,
      reason: z.string().nullable().meta({ description: "Why, as a sentence." }),
      code: z
        .string()
        .nullable()
        .meta({ description: "Why, as a stable word; daemons before it do not send it." })
        .optional(),
    })
    .meta({ description: "The session has another status." }),
  session_placed: z
    .strictObject({
      directory: z.string().meta({ description: "The session's directory." }),
      worktreeBranch: z
        .string()
        .nullable()
        .meta({ description: "The branch of its own worktree; null if it has none." }),
      model: ModelChoice.nullable().meta({ description: "Null if the agent decides." }),
      capabilities: z.array(Capability).meta({ description: "What its agent can do." }),
    })
    .meta({
      description: "A session whose clone or fork took longer than its caller waited is ready.",
    }),
  fallback_taken: z
    .strictObject({ kind: AgentKind, ...Fallback.shape })
    .meta({ description: "The session runs with another kind than the preferred one." }),
  session_shared: z
    .strictObject({
      userIds: z
        .array(UserId)
        .nullable()
        .meta({ description: "Members who may prompt it; null: every member." }),
    })
    .meta({ description: "The owner of the session's account has changed who may prompt it." }),
  account_used: z
    .strictObject({ userId: UserId.meta({ description: "Whose account it is." }) })
    .meta({ description: "The session uses a person's own agent account." }),
  session_forked: z
    .strictObject({
      fromSessionId: SessionId.meta({ description: "The original." }),
      mode: z
        .enum(["full", "compress"])
        .meta({ description: "full: the conversation itself. compress: a summary of it." }),
      isCut: z.boolean().meta({ description: "True if the conversation was too long." }),
      hasFiles: z.boolean().meta({
        description: "False if the host no longer had the original's files.",
      }),
      summary: z
        .string()
        .nullable()
        .meta({ description: "The summary; null if the agent reads the conversation itself." }),
    })
    .meta({
      description:
        "The session continues another one. Its agent reads the earlier conversation with its first prompt.",
    }),
  config_ignored: z
    .strictObject({ paths: z.array(z.string()).meta({ description: "Files and directories." }) })
    .meta({
      description:
        "Configuration files in the repository that the agent does not use. If `config_trusted` lists a file too, the agent uses the version of the origin's default branch.",
    }),
  config_trusted: z
    .strictObject({
      origin: z.string().meta({ description: "Where the repository comes from." }),
      parts: z.array(TrustedPart).meta({ description: "The parts in use." }),
      paths: z.array(z.string()).meta({ description: "The files, at most 100 of them." }),
      reason: z
        .string()
        .nullable()
        .meta({ description: "Why a trusted part is not used; otherwise null." }),
    })
    .meta({
      description:
        "Which trusted parts of the repository's configuration the agent uses, and why others are not used.",
    }),
  session_reverted: z
    .strictObject({
      messageId: z.string().meta({ description: "The first message that no longer applies." }),
    })
    .meta({ description: "Conversation and files are as before a message." }),
  journal_reset: z.looseObject({}).meta({
    description: "The host has a new journal. What it had not reported before is lost.",
  }),
  unknown: z
    .strictObject({ raw: z.unknown().meta({ description: "The event, unchanged." }) })
    .meta({ description: "An event of the agent that has no equivalent here." }),
};

type UpdateName = keyof typeof sessionUpdates;

/** The type of a log entry. */
export const SessionUpdateName = z
  .enum(Object.keys(sessionUpdates) as [UpdateName, ...UpdateName[]])
  .meta({ description: "The type of an entry." });

export type SessionUpdate = {
  [Name in UpdateName]: { sessionUpdate: Name } & z.infer<(typeof sessionUpdates)[Name]>;
}[UpdateName];
export type UpdateOf<Name extends UpdateName> = Extract<SessionUpdate, { sessionUpdate: Name }>;

/** A reported update; undefined if another version wrote it in other terms, or if it was cut. */
export function readUpdate(stored: { sessionUpdate: string }): SessionUpdate | undefined {
  const { sessionUpdate, _meta, ...rest } = stored as Record<string, unknown>;
  if (!Object.hasOwn(sessionUpdates, sessionUpdate as string)) return undefined;
  const schema: z.ZodType<object> = sessionUpdates[sessionUpdate as UpdateName];
  const { data } = received(schema).safeParse(rest);
  return data && ({ sessionUpdate, ...data } as SessionUpdate);
}
