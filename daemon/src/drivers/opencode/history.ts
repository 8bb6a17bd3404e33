// What opencode kept of a session and its sub-agents since they were read. Its history gives everything of
// every session on the host that it is not told to leave out, so all others are named as read.
import type { Api } from "./api.ts";
import type { Tracker } from "./events.ts";
import type { SessionData, SyncEvent } from "./frames.ts";

const everything = Number.MAX_SAFE_INTEGER;

/** In the order it happened. */
export async function readNews(
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
