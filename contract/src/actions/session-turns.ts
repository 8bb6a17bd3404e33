// Turns of sessions: prompting an agent, stopping it, and reading what it does.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { SessionId } from "../ids.ts";
import { limit } from "../pages.ts";
import { RequestRecord } from "../records/request.ts";
import { SessionActivity, SessionEvent, SessionStatus } from "../records/session.ts";
import { TurnOutcome } from "../session-log/updates.ts";
import { neverLogged, text } from "../text.ts";
import { AgentMode, Attachment, CommandName, Options } from "./session-parts.ts";

const ofSession = z.strictObject({ sessionId: SessionId });

/** Work that the host has accepted. The session's view shows its progress. */
const AcceptedTurn = z
  .strictObject({
    sessionId: SessionId,
    turnId: z.string(),
    messageId: z.string().meta({ description: "The prompt's message; pass it to revert_session." }),
    queued: z.boolean().meta({ description: "True if it waits for an earlier turn." }),
  })
  .meta({ id: "AcceptedTurn", description: "A turn that the host has accepted." });

export const sessionTurnActions = {
  send_prompt: action({
    summary: "Send a prompt to a session.",
    details:
      "Answers when the host has accepted the prompt; the agent's work streams into the session's view. While a turn runs, prompts wait in order. `model` and `options` also apply to later prompts; `agent` does not.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      text: text({ min: 1 }),
      model: z.strictObject({ providerID: z.string(), modelID: z.string() }).optional(),
      options: Options.optional(),
      agent: AgentMode.optional(),
      attachments: z.array(Attachment).optional(),
    }),
    result: AcceptedTurn,
    refusals: [
      "not_found",
      "session_ended",
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
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: ofSession,
    result: z.strictObject({
      sessionId: SessionId,
      aborted: z.boolean().meta({ description: "Whether a turn or a shell command was running." }),
      droppedPrompts: z.int().min(0),
    }),
    refusals: ["not_found", ...hostRefusals],
  }),

  summarize_session: action({
    summary: "Condense a session's history so that it fits the model's context again.",
    details:
      "Only opencode sessions can do this. For other kinds call run_command with the command `compact`.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: ofSession,
    result: z.strictObject({
      sessionId: SessionId,
      status: z.enum(["summarized", "in_progress"]),
    }),
    refusals: [
      "not_found",
      "capability_missing",
      "turn_running",
      "session_ended",
      "agent_not_ready",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  run_shell: action({
    summary: "Run a shell command in a session's working directory, without the model.",
    details:
      "Answers when the host has accepted the command; the output streams into the session's view. The call is audited, but the command's text is stored nowhere. Only for kinds with the capability shell.",
    permission: "sessions:edit",
    effect: "destroys",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      command: neverLogged(text({ min: 1 })),
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
      "Answers when the host has accepted the command; the output streams into the session's view. Only for kinds with the capability commands.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
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
      "queue_full",
      "journal_full",
      "agent_not_ready",
      "project_config_present",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  list_session_events: action({
    summary: "Read a session's log, the oldest entries first.",
    details:
      "Entries are numbered 1, 2, 3 … without a gap. Call again with the last `seq` as `after` while `hasMore` is true; GET /api/sessions/{sessionId}/events streams the same entries.",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      after: z
        .int()
        .min(0)
        .meta({ description: "Returns entries after this `seq`.", default: 0 })
        .optional(),
      limit: limit({ max: 500, default: 100 }),
    }),
    result: z.strictObject({
      events: z.array(SessionEvent),
      lastSeq: z
        .int()
        .min(0)
        .meta({ description: "`seq` of the newest entry; 0 if there is none." }),
      hasMore: z.boolean(),
    }),
    refusals: ["not_found"],
  }),

  wait_for_session: action({
    summary: "Wait until a session's turn is finished or a request needs an answer.",
    details:
      "Answers at once if nothing runs. With `afterSeq` it also waits until the log has a later entry. After the timeout it answers with the current state and `timedOut` true; call again to keep waiting.",
    permission: "sessions:view",
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
      afterSeq: z
        .int()
        .min(0)
        .meta({ description: "`seq` of the last entry that the caller has." })
        .optional(),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      status: SessionStatus,
      activity: SessionActivity,
      turnId: z.string().nullable().meta({ description: "The running turn, or the last one." }),
      turnOutcome: TurnOutcome.nullable().meta({ description: "Null while the turn runs." }),
      pendingRequests: z.array(RequestRecord),
      lastSeq: z.int().min(0),
      timedOut: z.boolean(),
    }),
    refusals: ["not_found"],
  }),
};
