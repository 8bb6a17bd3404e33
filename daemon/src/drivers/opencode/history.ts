// Reads the stored events of a session and its sub-agents from opencode's history. The history returns the
// events of every session on the host unless the request excludes them, so all other sessions are excluded.
import type { Api } from "./api.ts";
import type { Tracker } from "./events.ts";
import type { SessionData, SyncEvent } from "./frames.ts";

const everything = Number.MAX_SAFE_INTEGER;

/** Returns the events after those the tracker has read, in the order they happened. */
export async function readHistory(
  api: Api,
  tracker: Pick<Tracker, "has" | "readTo">,
): Promise<SyncEvent[]> {
  const listed = (await api.request("GET", "/experimental/session?limit=100000")) as SessionData[];
  const parents = new Map(listed.map(({ id, parentID }) => [id, parentID]));
  const isOurs = (id: string | undefined): boolean =>
    id !== undefined && (tracker.has(id) || isOurs(parents.get(id)));
  const others = listed.filter(({ id }) => !isOurs(id)).map(({ id }) => [id, everything]);
  const body = { ...Object.fromEntries(others), ...tracker.readTo() } as Record<string, number>;
  return inOrder(await api.request("POST", "/sync/history", { body }));
}

function inOrder(entries: unknown): SyncEvent[] {
  return (entries as (SyncEvent & { aggregate_id: string })[])
    .map(({ id, type, seq, data, aggregate_id: sessionID }) => ({ id, type, seq, data, sessionID }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}
