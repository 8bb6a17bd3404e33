// Pushing a session's commits. The host pushes with its own credentials. The title and body of the pull
// request come from the record unless the caller sets them.
import { parseId, type sessionActions } from "@hawser/contract";
import { onHost, type HostHandler } from "../dispatch/handler.ts";
import { askHost, withShortWait } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import { keepPullRequest } from "./file-store.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";

export const pushSession: HostHandler<(typeof sessionActions)["push_session"], SessionServices> =
  onHost({
    async prepare({ sql, caller }, { sessionId, openPr = true, title, body }) {
      const row = await findSession(sql, sessionId);
      refuseOver(row);
      const origin = `Made by ${row.agent_kind} in the Hawser session ${sessionId}.`;
      const pullRequest = {
        title: oneLine(title) || oneLine(row.title) || `Changes by ${row.agent_kind}`,
        body: body ?? origin,
      };
      const ownerId = ownerIdOf(caller);
      return { ...hostOf(row), ownerId, pullRequest: openPr ? pullRequest : null };
    },
    ask: (context, { sessionId }, { pullRequest, ownerId, ...host }) =>
      askHost(withShortWait(context), host, "push_session", { sessionId, pullRequest, ownerId }),
    conclude({ sql }, { sessionId }, _intent, { pullRequestError, ...pushed }) {
      const { pullRequestUrl } = pushed;
      if (pullRequestUrl !== null) {
        const id = parseId("session", sessionId)!;
        sql.later(keepPullRequest, sql.organizationId, id, pullRequestUrl);
      }
      return { sessionId, ...pushed, ...whyNoPullRequest(pullRequestError) };
    },
  });

/** Reasons that hosts report as a word. */
const reasons: Record<string, string> = {
  not_requested: "No pull request was requested.",
  not_a_hosting_provider: "The repository's origin is no provider that the host's client knows.",
  not_logged_in: "The host's code-hosting client is not logged in. Log it in on the host.",
  cli_not_installed: "The host has no code-hosting client. Install gh on it, and log it in.",
};

/** The reason as a word and as a sentence. All others are sentences of the provider or its client. */
function whyNoPullRequest(reported: string | null) {
  if (reported === null) return { pullRequestError: null, pullRequestMessage: null };
  const sentence = Object.hasOwn(reasons, reported) ? reasons[reported]! : undefined;
  return {
    pullRequestError: sentence === undefined ? "provider_refused" : reported,
    pullRequestMessage: sentence ?? reported,
  };
}

const oneLine = (text: string | null = "") => (text ?? "").replace(/\s+/g, " ").trim();
