// Finding a session and the host it runs on, for handlers that act on one.
import { Refusal, formatId, notFound, parseId } from "@hawser/contract";
import type { Viewers } from "../events/viewers.ts";
import type { Files } from "../files/files.ts";
import type { HostServices, HostTarget } from "../hosts/ask-host.ts";
import type { TenantTransaction } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { isOver } from "./lifecycle.ts";
import { selectSession, type SessionRow } from "./store.ts";

export interface SessionServices extends HostServices {
  viewers: Viewers;
  files: Pick<Files, "add">;
  sessionRequests: SessionRequests;
}

/** What ending a session does to its requests. Sessions are given by stored ids. */
export interface SessionRequests {
  /** Withdraws the pending requests, and returns their ids as callers see them. */
  withdraw(sql: TenantTransaction, sessionIds: readonly string[]): Promise<string[]>;
  /** Deletes every request, at the latest when the transaction commits. */
  delete(sql: TenantTransaction, sessionIds: readonly string[]): void;
}

/** Throws `not_found` if the organization has no such session. */
export async function findSession(sql: TenantSql, sessionId: string): Promise<SessionRow> {
  const id = parseId("session", sessionId);
  const row = id && (await sql.first(selectSession, sql.organizationId, id));
  if (!row) throw notFound("session");
  return row;
}

/** Throws `session_ended` if the session accepts no further work. */
export function refuseOver({ status }: SessionRow): void {
  if (!isOver(status)) return;
  throw new Refusal(
    "session_ended",
    "This session has ended and accepts no further work. Start another session, or call restore_session to continue with this session's files.",
  );
}

export function hostOf({ instance_id, reachable }: SessionRow): HostTarget {
  return { instanceId: formatId("instance", instance_id), isOnline: reachable };
}
