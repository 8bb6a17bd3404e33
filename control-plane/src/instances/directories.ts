// Looking at a host's directories: the host is asked, and what it lists is kept for when it is away.
import {
  Refusal,
  notFound,
  parseId,
  type DirectoryRecord,
  type RootListing,
} from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import type { ReadContext } from "../dispatch/handler.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import { actorOf } from "../dispatch/caller.ts";
import * as store from "./store.ts";

type Context = ReadContext & { hosts: HostAsker };

interface Listing {
  roots: RootListing[];
  live: boolean;
  takenAt: string | null;
}

export async function listDirectories(context: Context, instanceId: string): Promise<Listing> {
  const { sql, hosts } = context;
  const { id, looking } = await findHost(context, instanceId);
  let answer: CommandResultOf<"list_directories">;
  try {
    answer = await hosts.look(instanceId, "list_directories", {}, looking);
  } catch (error) {
    // Whatever keeps the host from answering, the last listing is better than none.
    if (!(error instanceof Refusal)) throw error;
    const kept = await sql.first(store.selectListing, sql.organizationId, id);
    return { roots: kept?.roots ?? [], live: false, takenAt: kept?.taken_at ?? null };
  }
  const text = JSON.stringify(answer.roots);
  const kept = await sql.first(store.keepListing, sql.organizationId, id, text);
  if (!kept) throw notFound("instance");
  return { roots: answer.roots, live: true, takenAt: kept.taken_at };
}

/** Only by the host itself: nobody should act on what was there some time ago. */
export async function browseDirectory(
  context: Context,
  instanceId: string,
  path: string,
): Promise<{ directories: DirectoryRecord[]; truncated: boolean }> {
  const { looking } = await findHost(context, instanceId);
  return context.hosts.look(instanceId, "browse_directory", { path }, looking);
}

/** An instance of the caller's organization, and how its host is asked. */
export async function findHost({ sql, caller }: Context, instanceId: string) {
  const id = parseId("instance", instanceId);
  const row = id && (await sql.first(store.selectStatus, sql.organizationId, id));
  if (!row) throw notFound("instance");
  return { id, looking: { actor: actorOf(caller), isOnline: row.status === "online" } };
}
