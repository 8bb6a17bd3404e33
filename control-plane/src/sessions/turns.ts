// What the actions on a session's turns do.
import { notFound, parseId, type sessionTurnActions } from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { NotYet } from "../not-yet.ts";
import { query } from "../postgres/statement.ts";
import {
  askHost,
  findSession,
  placeOf,
  type SessionPlace,
  type SessionServices,
} from "./ask-host.ts";
import { selectEntries } from "../session-log/follow-store.ts";
import { isOver } from "./lifecycle.ts";
import { runCommand, runShell, sendPrompt, summarizeSession } from "./prompting.ts";
import * as store from "./store.ts";
import { waitForSession, type SessionLogServices } from "../session-log/wait.ts";

const largestListing = 4 * 1024 * 1024;

export const sessionTurnHandlers: HandlersFor<
  typeof sessionTurnActions,
  SessionServices & SessionLogServices,
  NotYet
> = {
  send_prompt: sendPrompt,
  run_command: runCommand,
  run_shell: runShell,
  summarize_session: summarizeSession,

  abort_session: {
    async prepare({ sql }, { sessionId }) {
      const row = await findSession(sql, sessionId);
      return { ...placeOf(row), isOver: isOver(row.status) };
    },
    ask(context, { sessionId }, intent) {
      const { isOver: over, ...place } = intent as SessionPlace & { isOver: boolean };
      return over
        ? Promise.resolve({ aborted: false, droppedPrompts: 0 })
        : askHost(context, place, "abort_turn", { sessionId });
    },
    conclude: (_context, { sessionId }, _intent, answer) =>
      Promise.resolve({ sessionId, ...(answer as CommandResultOf<"abort_turn">) }),
  },

  async list_session_events({ sql }, { sessionId, after = 0, limit = 100 }) {
    const id = parseId("session", sessionId);
    if (!id) throw notFound("session");
    // The entries first: what is added in between is beyond `lastSeq` of neither.
    const [rows, [session]] = await sql.together(
      query(selectEntries, sql.organizationId, id, after, limit, largestListing),
      query(store.selectSession, sql.organizationId, id),
    );
    if (!session) throw notFound("session");
    const events = rows.map(({ seq, at, turn_id: turnId, update }) => ({
      seq,
      at,
      turnId,
      update: JSON.parse(update) as Record<string, unknown>,
    }));
    const lastSeq = session.applied_seq;
    return { events, lastSeq, hasMore: (events.at(-1)?.seq ?? after) < lastSeq };
  },

  wait_for_session: (context, input) => waitForSession(context, input),
};
