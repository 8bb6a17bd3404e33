// Asking the host of a session, for handlers that change something there.
import { Refusal, formatId, notFound, parseId } from "@hawser/contract";
import type { CommandResultOf, HostCommand, PayloadOf } from "@hawser/host-protocol";
import { actorOf } from "../dispatch/caller.ts";
import type { AskContext } from "../dispatch/handler.ts";
import type { Viewers } from "../events/viewers.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { Files } from "../files/files.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { isOver } from "./lifecycle.ts";
import { selectSession, type SessionRow } from "./store.ts";

export interface SessionServices {
  hosts: HostAsker;
  viewers: Viewers;
  files: Pick<Files, "add">;
}

/** What is kept of a session while its host is asked. */
export interface SessionPlace {
  instanceId: string;
  isOnline: boolean;
}

export async function findSession(sql: TenantSql, sessionId: string): Promise<SessionRow> {
  const id = parseId("session", sessionId);
  const row = id && (await sql.first(selectSession, sql.organizationId, id));
  if (!row) throw notFound("session");
  return row;
}

export function refuseOver({ status }: SessionRow): void {
  if (!isOver(status)) return;
  throw new Refusal(
    "session_ended",
    "This session has ended and takes no further work. Start another one.",
  );
}

export function placeOf({ instance_id, reachable }: SessionRow): SessionPlace {
  return { instanceId: formatId("instance", instance_id), isOnline: reachable };
}

export function askHost<Name extends HostCommand>(
  { hosts, caller, commandId, resumed, signal }: AskContext & Pick<SessionServices, "hosts">,
  { instanceId, isOnline }: SessionPlace,
  command: Name,
  payload: PayloadOf<Name>,
): Promise<CommandResultOf<Name>> {
  const asking = { commandId, actor: actorOf(caller), resumed, signal, isOnline };
  return hosts.ask(instanceId, command, payload, asking);
}

/** What a caller waits for work that may take many minutes; it goes on without them. */
const longWorkMs = 20_000;

/** For such work: the same context, whose wait ends well before the caller's own patience does. */
export function withShortWait<Context extends AskContext>(context: Context): Context {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(longWorkMs)]);
  return { ...context, signal };
}
