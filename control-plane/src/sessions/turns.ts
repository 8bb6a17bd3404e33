// What the actions on a session's turns do. session-log/handlers.ts has those that read the log.
import type { sessionTurnActions } from "@hawser/contract";
import { onHost, type HandlersFor } from "../dispatch/handler.ts";
import { askHost, readFromHost } from "../hosts/ask-host.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import { isOver } from "./lifecycle.ts";
import { refuseWithout, runCommand, runShell, sendPrompt, summarizeSession } from "./prompting.ts";

type ReadsLog =
  | "list_session_events"
  | "search_session_events"
  | "list_session_turns"
  | "wait_for_session";

export const sessionTurnHandlers: HandlersFor<
  Omit<typeof sessionTurnActions, ReadsLog>,
  SessionServices
> = {
  send_prompt: sendPrompt,
  run_command: runCommand,
  run_shell: runShell,
  async list_session_commands(context, { sessionId }) {
    const row = await findSession(context.sql, sessionId);
    refuseOver(row);
    refuseWithout(row, "commands");
    return readFromHost(context, hostOf(row), "list_session_commands", { sessionId });
  },
  summarize_session: summarizeSession,

  abort_session: onHost({
    async prepare({ sql }, { sessionId }) {
      const row = await findSession(sql, sessionId);
      return { ...hostOf(row), isOver: isOver(row.status) };
    },
    ask: async (context, { sessionId }, host) =>
      host.isOver
        ? { aborted: false, droppedPrompts: 0 }
        : askHost(context, host, "abort_turn", { sessionId }),
    conclude: (_context, { sessionId }, _intent, aborted) => ({ sessionId, ...aborted }),
  }),
};
