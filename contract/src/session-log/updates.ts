// Contents of log entries, in terms of the Agent Client Protocol where it has one, else in our own. An
// entry is always complete: a whole message, the start of a tool call, or its end. Live text is sent
// beside the log and is never part of it.
import { z } from "zod";
import { RequestId } from "../ids.ts";
import { received } from "../received.ts";
import { Capability, ModelChoice } from "../records/agent-kind.ts";
import { AskedPermission, AskedQuestion, PermissionAnswer } from "../records/request.ts";
import { SessionMode } from "../records/session-mode.ts";
import { SessionStatus, Usage } from "../records/session.ts";

const TextContent = z.strictObject({ type: z.literal("text"), text: z.string() });

/** In the log one chunk is the whole message. */
const message = { messageId: z.string(), content: TextContent };

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

/** `parentToolCallId`: the tool call whose sub-agent wrote it; null for the session's own agent. */
const ofSubAgent = { parentToolCallId: z.string().nullable() };

export const TurnOutcome = z.enum(["completed", "aborted", "failed", "interrupted"]).meta({
  description:
    "completed: the agent finished. aborted: somebody stopped it. failed: the agent or its model gave up. interrupted: the agent's process or the daemon went away; it is never run again.",
});
export type TurnOutcome = z.infer<typeof TurnOutcome>;

const updates = {
  user_message_chunk: z.strictObject(message),
  agent_message_chunk: z.strictObject({ ...message, ...ofSubAgent }),
  agent_thought_chunk: z.strictObject({ ...message, ...ofSubAgent }),
  tool_call: z.strictObject({
    toolCallId: z.string(),
    title: z.string(),
    kind: z.enum(toolKinds),
    status: z.enum(["pending", "in_progress"]),
    rawInput: z.unknown(),
    ...ofSubAgent,
  }),
  tool_call_update: z.strictObject({
    toolCallId: z.string(),
    title: z.string().optional(),
    status: z.enum(["completed", "failed"]),
    content: z.array(ToolContent),
  }),
  plan: z.strictObject({
    entries: z.array(
      z.strictObject({
        content: z.string(),
        priority: z.enum(["high", "medium", "low"]),
        status: z.enum(["pending", "in_progress", "completed"]),
      }),
    ),
  }),
  /** The session's totals so far. `costUsd` is null if unknown. */
  usage_update: z.strictObject({
    usage: Usage,
    costUsd: z.number().min(0).nullable(),
    costIsEstimate: z.boolean(),
  }),
  session_info_update: z.strictObject({ title: z.string().nullable() }),

  prompt_queued: z.strictObject({ turnId: z.string(), messageId: z.string(), text: z.string() }),
  /** A prompt that is not run, because the turn before it was stopped. */
  prompt_dropped: z.strictObject({ turnId: z.string(), messageId: z.string(), reason: z.string() }),
  turn_started: z.strictObject({
    messageId: z.string(),
    model: ModelChoice.nullable(),
    agent: z.string().nullable(),
  }),
  turn_finished: z.strictObject({ outcome: TurnOutcome, reason: z.string().nullable() }),
  request_raised: z.strictObject({
    requestId: RequestId,
    type: z.enum(["permission", "question"]),
    permission: AskedPermission.nullable(),
    questions: z.array(AskedQuestion).nullable(),
    /** Hash of the request as shown. An answer contains it, so it cannot apply to another request. */
    shownHash: z.string(),
    toolCallId: z.string().nullable(),
    /** Why a person is asked. */
    rule: z.string().optional(),
  }),
  /** A call of the agent that was allowed or denied without asking anybody, and by which rule. */
  call_decided: z.strictObject({
    toolCallId: z.string().nullable(),
    answer: z.enum(["allow", "deny"]),
    rule: z.string(),
    mode: SessionMode,
  }),
  request_settled: z.strictObject({
    requestId: RequestId,
    outcome: z.enum(["answered", "withdrawn"]),
    answer: PermissionAnswer.nullable(),
    answers: z.array(z.array(z.string())).nullable(),
    reason: z.string().nullable(),
  }),
  /**
   * A caller's shell command that has ended; its text is stored nowhere. `exitCode` is null if the command
   * did not end by itself, and `reason` says why. `agent`: the mode it was run for; null for the
   * session's own.
   */
  shell: z.strictObject({
    shellId: z.string(),
    exitCode: z.int().nullable(),
    output: z.string(),
    reason: z.string().nullable(),
    agent: z.string().nullable(),
  }),
  /** `reason`: why the mode changed, if no caller set it. */
  mode_changed: z.strictObject({ mode: SessionMode, reason: z.string().nullable() }),
  /** The agent replaced the earlier conversation by a summary. The log keeps all of it. */
  session_compacted: z.looseObject({}),
  session_status: z.strictObject({ status: SessionStatus, reason: z.string().nullable() }),
  /** Directory and capabilities of a session whose clone took longer than its caller waited. */
  session_placed: z.strictObject({
    directory: z.string(),
    worktreeBranch: z.string().nullable(),
    model: ModelChoice.nullable(),
    capabilities: z.array(Capability),
  }),
  /** Configuration in the repository that was withheld from the agent. */
  config_ignored: z.strictObject({ paths: z.array(z.string()) }),
  /** Conversation and files are as before this message; this message and later ones no longer apply. */
  session_reverted: z.strictObject({ messageId: z.string() }),
  journal_reset: z.looseObject({}),
  /** An event of the agent that has no equivalent here, unchanged. */
  unknown: z.strictObject({ raw: z.unknown() }),
};

type UpdateName = keyof typeof updates;

export type SessionUpdate = {
  [Name in UpdateName]: { sessionUpdate: Name } & z.infer<(typeof updates)[Name]>;
}[UpdateName];
export type UpdateOf<Name extends UpdateName> = Extract<SessionUpdate, { sessionUpdate: Name }>;

/** A reported update; undefined if another version wrote it in other terms, or if it was cut. */
export function readUpdate(stored: { sessionUpdate: string }): SessionUpdate | undefined {
  const { sessionUpdate, _meta, ...rest } = stored as Record<string, unknown>;
  if (!Object.hasOwn(updates, sessionUpdate as string)) return undefined;
  const schema: z.ZodType<object> = updates[sessionUpdate as UpdateName];
  const { data } = received(schema).safeParse(rest);
  return data && ({ sessionUpdate, ...data } as SessionUpdate);
}
