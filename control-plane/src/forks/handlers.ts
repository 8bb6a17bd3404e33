// Forking: a new session, of any kind, that continues another one. The control plane has the conversation, the
// host has the files.
import {
  Refusal,
  formatId,
  narrower,
  notFound,
  parseId,
  type sessionActions,
} from "@hawser/contract";
import { onHost, type HandlersFor, type HostHandler } from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import { askHost, withShortWait } from "../hosts/ask-host.ts";
import { ownerIdOf } from "../identities/owner.ts";
import { authorFor } from "../sessions/author.ts";
import type { SessionServices } from "../sessions/find-session.ts";
import {
  deleteRefusedStart,
  recordLongStart,
  recordStart,
  starterReference,
  trustedForHost,
} from "../sessions/start.ts";
import { insertSession } from "../sessions/store.ts";
import { readConversation } from "./conversation.ts";
import * as store from "./store.ts";

type ForkActions = Pick<typeof sessionActions, "fork_session">;

const forkSession: HostHandler<ForkActions["fork_session"], SessionServices> = onHost({
  async prepare(context, { sessionId: originalId, agentKind, mode: carried = "full" }) {
    const { sql, caller } = context;
    const id = parseId("session", originalId);
    const original = id && (await sql.first(store.selectOriginal, sql.organizationId, id));
    if (!original) throw notFound("session");
    if (original.instance_status !== "online") throw hostOffline();
    if (original.activity === "starting") {
      const message =
        "This session has not started yet. Call wait_for_session, and fork it when it has.";
      throw new Refusal("agent_not_ready", message);
    }
    const { instance_id, title, directory, worktree_branch, policy, applied_seq } = original;
    const conversation = await readConversation(sql, id, applied_seq);
    // What was narrowed for the original is not wider for a session that continues it.
    const begun = caller.schedule?.mode ?? original.default_mode;
    const allowed = narrower(begun, original.highest_mode);
    const mode = narrower(original.mode, allowed);
    const starter = await starterReference(sql, caller);
    const ownerId = ownerIdOf(caller);
    const row = [instance_id, title, agentKind, null, starter, mode] as const;
    const made = await sql.first(insertSession, sql.organizationId, ...row);
    sql.later(store.setOriginal, sql.organizationId, made!.session_id, id, applied_seq);
    const sessionId = formatId("session", made!.session_id);
    notifyAfterCommit(context, { sessions: [sessionId] });
    return {
      instanceId: formatId("instance", instance_id),
      isOnline: true,
      payload: {
        sessionId,
        originalId,
        kind: agentKind,
        title,
        directory,
        useWorktree: worktree_branch !== null,
        conversation: conversation.text,
        isCut: conversation.isCut,
        summarize: carried === "compress",
        policy,
        mode,
        ...trustedForHost(original),
        author: await authorFor(sql, caller),
        ownerId,
        ...(caller.continued && { continues: caller.continued }),
      },
    };
  },
  ask: (context, _input, { payload, ...host }) =>
    askHost(withShortWait(context), host, "fork_session", payload),
  conclude: (context, _input, { payload }, answer) => recordStart(context, payload, answer),
  undo: (context, _input, { payload }) => deleteRefusedStart(context, payload.sessionId),
  // A summary takes a turn of the agent, and a copy of a large clone takes a while.
  unknown: (context, _input, { payload }) => recordLongStart(context, payload.sessionId),
});

export const forkHandlers: HandlersFor<ForkActions, SessionServices> = {
  fork_session: forkSession,
};
