// Finding the host of an instance and asking it, for handlers of every resource.
import { notFound, parseId } from "@hawser/contract";
import type { CommandResultOf, HostCommand, PayloadOf } from "@hawser/host-protocol";
import { actorOf, type Caller } from "../dispatch/caller.ts";
import type { AskContext } from "../dispatch/handler.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { selectStatus } from "./store.ts";

export interface HostServices {
  hosts: HostAsker;
}

/** The host to ask: its instance, by the id that callers see, and whether it is shown online. */
export interface HostTarget {
  instanceId: string;
  isOnline: boolean;
}

/** Throws `not_found` if the organization has no such instance. */
export async function findHost(sql: TenantSql, instanceId: string): Promise<HostTarget> {
  const id = parseId("instance", instanceId);
  const row = id && (await sql.first(selectStatus, sql.organizationId, id));
  if (!row) throw notFound("instance");
  return { instanceId, isOnline: row.status === "online" };
}

/** Asks a host to change something, under the command id of the call. */
export function askHost<Name extends HostCommand>(
  { hosts, caller, commandId, resumed, signal }: AskContext & HostServices,
  { instanceId, isOnline }: HostTarget,
  command: Name,
  payload: PayloadOf<Name>,
): Promise<CommandResultOf<Name>> {
  const asking = { commandId, actor: actorOf(caller), resumed, signal, isOnline };
  return hosts.ask(instanceId, command, payload, asking);
}

/** Asks a host to read something. */
export function readFromHost<Name extends HostCommand>(
  { hosts, caller }: { caller: Caller } & HostServices,
  { instanceId, isOnline }: HostTarget,
  command: Name,
  payload: PayloadOf<Name>,
): Promise<CommandResultOf<Name>> {
  return hosts.read(instanceId, command, payload, { actor: actorOf(caller), isOnline });
}

/** How long a caller waits for work that can take many minutes. The work continues after that. */
const longWorkMs = 20_000;

/** The same context with a wait that ends well before the caller's own deadline. */
export function withShortWait<Context extends AskContext>(context: Context): Context {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(longWorkMs)]);
  return { ...context, signal };
}
