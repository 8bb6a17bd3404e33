// Pushing a session's commits. The host pushes with its own credentials. The title and body of the pull
// request come from the record unless the caller sets them.
import type { sessionActions } from "@hawser/contract";
import { onHost, type HostHandler } from "../dispatch/handler.ts";
import { askHost, withShortWait } from "../hosts/ask-host.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";

export const pushSession: HostHandler<(typeof sessionActions)["push_session"], SessionServices> =
  onHost({
    async prepare({ sql }, { sessionId, openPr = true, title, body }) {
      const row = await findSession(sql, sessionId);
      refuseOver(row);
      const origin = `Made by ${row.agent_kind} in the Hawser session ${sessionId}.`;
      const pullRequest = {
        title: oneLine(title) || oneLine(row.title) || `Changes by ${row.agent_kind}`,
        body: body ?? origin,
      };
      return { ...hostOf(row), pullRequest: openPr ? pullRequest : null };
    },
    ask: (context, { sessionId }, { pullRequest, ...host }) =>
      askHost(withShortWait(context), host, "push_session", { sessionId, pullRequest }),
    conclude: (_context, { sessionId }, _intent, pushed) => ({ sessionId, ...pushed }),
  });

const oneLine = (text: string | null = "") => (text ?? "").replace(/\s+/g, " ").trim();
