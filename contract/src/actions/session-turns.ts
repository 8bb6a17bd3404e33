// Turns of sessions: prompting an agent, stopping it, and reading what it does.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { RequestRecord } from "../records/request.ts";
import { SessionCommand } from "../records/session-command.ts";
import {
  AgentMessage,
  SessionActivity,
  SessionEvent,
  SessionStatus,
  statusReason,
} from "../records/session.ts";
import { TurnRecord } from "../records/session-turn.ts";
import { SessionUpdateName, TurnOutcome } from "../session-log/updates.ts";
import { neverLogged, text } from "../text.ts";
import { AgentMode, Attachment, CommandName, Options } from "./session-parts.ts";

const ofSession = z.strictObject({ sessionId: SessionId });

/** Work that the host has accepted. The session's view shows its progress. */
const AcceptedTurn = z
  .strictObject({
    sessionId: SessionId,
    turnId: z.string().meta({ description: "The turn, as the session's log names it." }),
    messageId: z.string().meta({ description: "The prompt's message; pass it to revert_session." }),
    queued: z.boolean().meta({ description: "True if it waits for an earlier turn." }),
  })
  .meta({ id: "AcceptedTurn", description: "A turn that the host has accepted." });

export const sessionTurnActions = {
  send_prompt: action({
    summary: "Send a prompt to a session.",
    details:
      "Answers when the host has accepted the prompt. While a turn runs, prompts wait in order. `model` and `options` also apply to later prompts; `agent` does not.",
    group: "sessions",
    permission: "sessions:edit",
    openToGrants: "edit",
    effect: "changes",
    reach: "host",
    shownBy: "wait_for_session",
    input: z.strictObject({
      sessionId: SessionId,
      text: text({ min: 1 }).meta({ description: "What the agent is to do." }),
      model: z
        .strictObject({
          providerID: z.string().meta({ description: "A `providerId` of list_models." }),
          modelID: z.string().meta({ description: "A `modelId` of list_models." }),
        })
        .meta({ description: "The model for this and later prompts." })
        .optional(),
      options: Options.optional(),
      agent: AgentMode.optional(),
      attachments: z.array(Attachment).meta({ description: "Files for the agent." }).optional(),
    }),
    result: AcceptedTurn,
    refusals: [
      "not_found",
      "session_ended",
      "account_not_yours",
      "queue_full",
      "journal_full",
      "agent_not_ready",
      "project_config_present",
      ...hostRefusals,
    ],
  }),

  abort_session: action({
    summary: "Stop a session's running turn and drop the prompts waiting behind it.",
    details: "Its shell commands are ended too. The session stays usable. No-op if nothing runs.",
    group: "sessions",
    permission: "sessions:edit",
    openToGrants: "edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: ofSession,
    result: z.strictObject({
      sessionId: SessionId,
      aborted: z.boolean().meta({ description: "Whether a turn or a shell command was running." }),
      droppedPrompts: z.int().min(0).meta({ description: "Waiting prompts that were dropped." }),
    }),
    refusals: ["not_found", ...hostRefusals],
  }),

  summarize_session: action({
    summary: "Condense a session's history so that it fits the model's context again.",
    details: "Only for opencode. For other kinds call run_command with the command `compact`.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "wait_for_session",
    input: ofSession,
    result: z.strictObject({
      sessionId: SessionId,
      status: z
        .enum(["summarized", "in_progress"])
        .meta({ description: "in_progress: the session's log shows the end." }),
    }),
    refusals: [
      "not_found",
      "capability_missing",
      "turn_running",
      "session_ended",
      "account_not_yours",
      "agent_not_ready",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  run_shell: action({
    summary: "Run a shell command in a session's working directory, without the model.",
    details:
      "Answers when the host has accepted the command. The command's text is stored nowhere. Only for kinds with the capability shell.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "destroys",
    reach: "host",
    shownBy: "wait_for_session",
    input: z.strictObject({
      sessionId: SessionId,
      command: neverLogged(
        text({ min: 1 }).meta({ description: "A command line for the host's shell." }),
      ),
      agent: AgentMode.optional(),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      shellId: z.string().meta({ description: "Identifies the output in the session's view." }),
    }),
    refusals: [
      "not_found",
      "capability_missing",
      "session_ended",
      "account_not_yours",
      "turn_running",
      "journal_full",
      "agent_not_ready",
      "project_config_present",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  run_command: action({
    summary: "Run one of the agent's own slash commands in a session.",
    details:
      "Answers when the host has accepted the command. Only for kinds with the capability commands.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "wait_for_session",
    input: z.strictObject({
      sessionId: SessionId,
      command: CommandName,
      arguments: z
        .string()
        .meta({ description: "The rest of the command line, as one text." })
        .optional(),
      agent: AgentMode.optional(),
    }),
    result: AcceptedTurn,
    refusals: [
      "not_found",
      "capability_missing",
      "session_ended",
      "account_not_yours",
      "queue_full",
      "journal_full",
      "agent_not_ready",
      "project_config_present",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  list_session_commands: action({
    summary: "List the slash commands that a session's agent has.",
    details:
      "At most 500. Commands of trusted configuration are missing while the session is detached. Only for kinds with the capability commands.",
    group: "reading",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: ofSession,
    result: z.strictObject({ commands: z.array(SessionCommand) }),
    refusals: [
      "not_found",
      "capability_missing",
      "session_ended",
      "agent_not_ready",
      "project_config_present",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  list_session_events: action({
    summary: "Read a session's log, the oldest entries first.",
    details:
      "Entries are numbered 1, 2, 3 … without a gap. While `nextAfter` is not null, call again with it as `after`. With a filter, a page can be empty before the end.",
    group: "sessions",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      after: z
        .int()
        .min(0)
        .meta({ description: "Returns entries after this `seq`.", default: 0 })
        .optional(),
      turnId: z.string().meta({ description: "Returns only entries of this turn." }).optional(),
      types: z
        .array(SessionUpdateName)
        .min(1)
        .meta({ description: "Returns only entries of these types." })
        .optional(),
      tail: z
        .boolean()
        .meta({ description: "True returns the newest entries instead.", default: false })
        .optional(),
      limit: limit({ max: 500, default: 100 }),
      maxBytes: z
        .int()
        .min(1_000)
        .max(4_194_304)
        .meta({
          description: "Maximum size of the entries; one is always returned.",
          default: 4_194_304,
        })
        .optional(),
    }),
    result: z.strictObject({
      events: z.array(SessionEvent),
      lastSeq: z
        .int()
        .min(0)
        .meta({ description: "`seq` of the newest entry; 0 if there is none." }),
      hasMore: z.boolean().meta({ description: "Whether `nextAfter` is not null." }),
      nextAfter: z
        .int()
        .nullable()
        .meta({ description: "The `after` of the next page; null at the end, and with `tail`." }),
    }),
    refusals: ["not_found"],
  }),

  list_session_turns: action({
    summary: "Page through the turns of a session, the newest first.",
    details:
      "A call looks at 10,000 entries of the log at most, so a page can be empty: go on until `nextCursor` is null.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ turns: z.array(TurnRecord), nextCursor: NextCursor }),
    refusals: ["not_found"],
  }),

  search_session_events: action({
    summary: "Search a session's log for a text.",
    details:
      "Ignores case; the oldest entries first. A call looks at 2,000 entries at most, so a page can be empty: while `nextAfter` is not null, call again with it as `after`.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      query: text({ min: 1, max: 200 }).meta({ description: "The text to find." }),
      after: z
        .int()
        .min(0)
        .meta({ description: "Looks at entries after this `seq`.", default: 0 })
        .optional(),
      limit: limit({ max: 100, default: 20 }),
    }),
    result: z.strictObject({
      matches: z
        .array(
          z.strictObject({
            seq: z.int().min(1).meta({ description: "The entry; list_session_events has it." }),
            at: Instant.meta({ description: "When it happened, by the host's clock." }),
            turnId: z.string().nullable().meta({ description: "The turn it belongs to." }),
            type: z.string().meta({ description: "The type of the entry." }),
            text: z.string().meta({ description: "The found text with what surrounds it." }),
          }),
        )
        .meta({ description: "The entries that contain the text." }),
      nextAfter: z
        .int()
        .nullable()
        .meta({ description: "The `after` of the next page; null at the end." }),
    }),
    refusals: ["not_found"],
  }),

  wait_for_session: action({
    summary: "Wait until nothing runs in a session, or until a request needs an answer.",
    details:
      "Answers at once if nothing runs. With `sinceSeq` it also waits for a later entry, and `lastMessage` is a later one. After the timeout, `timedOut` is true; call again to keep waiting.",
    group: "sessions",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      timeoutSeconds: z
        .int()
        .min(1)
        .max(25)
        .meta({ description: "Maximum wait.", default: 20 })
        .optional(),
      sinceSeq: z
        .int()
        .min(0)
        .meta({ description: "`seq` of the last entry that the caller has." })
        .optional(),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      status: SessionStatus,
      ...statusReason,
      activity: SessionActivity,
      turnId: z.string().nullable().meta({ description: "The running turn, or the last one." }),
      turnOutcome: TurnOutcome.nullable().meta({ description: "Null while the turn runs." }),
      turnReason: z.string().nullable().meta({
        description:
          "Why the turn did not complete, and which session continues it, if one does; null if it completed, or still runs.",
      }),
      queuedTurnIds: z
        .array(z.string())
        .meta({ description: "Turns of prompts that wait for the running one." }),
      runningShellIds: z.array(z.string()).meta({ description: "Shell commands that run." }),
      pendingRequests: z.array(RequestRecord),
      lastMessage: AgentMessage.nullable().meta({
        description: "What the agent said last; null if it said nothing.",
      }),
      lastSeq: z.int().min(0).meta({ description: "`seq` of the newest entry." }),
      timedOut: z.boolean().meta({ description: "Whether the timeout ended the wait." }),
    }),
    refusals: ["not_found"],
  }),
};
