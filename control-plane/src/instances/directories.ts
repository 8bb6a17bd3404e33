// Listing a host's directories. The host is asked, and its answer is stored for when it is away.
import {
  Refusal,
  notFound,
  parseId,
  type DirectoryRecord,
  type RootListing,
} from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import type { ReadContext } from "../dispatch/handler.ts";
import { findHost, readFromHost, type HostServices } from "../hosts/ask-host.ts";
import * as store from "./store.ts";

type Context = ReadContext & HostServices;

interface Listing {
  roots: RootListing[];
  live: boolean;
  takenAt: string | null;
}

export async function listDirectories(context: Context, instanceId: string): Promise<Listing> {
  const { sql } = context;
  const host = await findHost(sql, instanceId);
  const id = parseId("instance", instanceId)!;
  let answer: CommandResultOf<"list_directories">;
  try {
    answer = await readFromHost(context, host, "list_directories", {});
  } catch (error) {
    // If the host cannot answer, the stored listing is better than none.
    if (!(error instanceof Refusal)) throw error;
    const kept = await sql.first(store.selectListing, sql.organizationId, id);
    return { roots: kept?.roots ?? [], live: false, takenAt: kept?.taken_at ?? null };
  }
  const text = JSON.stringify(answer.roots);
  const kept = await sql.first(store.keepListing, sql.organizationId, id, text);
  if (!kept) throw notFound("instance");
  return { roots: answer.roots, live: true, takenAt: kept.taken_at };
}

/** Always asks the host, because nobody should act on an old listing. */
export async function browseDirectory(
  context: Context,
  instanceId: string,
  path: string,
): Promise<{ directories: DirectoryRecord[]; truncated: boolean }> {
  const host = await findHost(context.sql, instanceId);
  return readFromHost(context, host, "browse_directory", { path });
}
