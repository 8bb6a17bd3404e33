// What the actions on a session's turns do. session-log/handlers.ts has those that read the log.
import type { sessionTurnActions } from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import type { HandlersFor } from "../dispatch/handler.ts";
import { askHost, type HostTarget } from "../hosts/ask-host.ts";
import type { NotYet } from "../not-yet.ts";
import { findSession, hostOf, type SessionServices } from "./find-session.ts";
import { isOver } from "./lifecycle.ts";
import { runCommand, runShell, sendPrompt, summarizeSession } from "./prompting.ts";

type ReadsLog = "list_session_events" | "wait_for_session";

export const sessionTurnHandlers: HandlersFor<
  typeof sessionTurnActions,
  SessionServices,
  NotYet | ReadsLog
> = {
  send_prompt: sendPrompt,
  run_command: runCommand,
  run_shell: runShell,
  summarize_session: summarizeSession,

  abort_session: {
    async prepare({ sql }, { sessionId }) {
      const row = await findSession(sql, sessionId);
      return { ...hostOf(row), isOver: isOver(row.status) };
    },
    ask(context, { sessionId }, intent) {
      const { isOver: over, ...host } = intent as HostTarget & { isOver: boolean };
      return over
        ? Promise.resolve({ aborted: false, droppedPrompts: 0 })
        : askHost(context, host, "abort_turn", { sessionId });
    },
    conclude: (_context, { sessionId }, _intent, answer) =>
      Promise.resolve({ sessionId, ...(answer as CommandResultOf<"abort_turn">) }),
  },
};
