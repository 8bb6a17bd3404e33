// The organization's events as hints for the query cache: which results show a record that has changed. Hints are
// gathered for a moment, so that a burst of changes costs one round of reads.

export type FeedEvent = { type: "changed"; record: string; id: string } | { type: "resync" };

/** The key of a result in the query cache: the action and its input. */
export type ResultKey = readonly unknown[];

/**
 * Actions whose results show a record of this type. A name of an input field: only the result for that record. Null:
 * every result, because each can contain the record.
 */
const shownBy: Record<string, Record<string, string | null>> = {
  instance: {
    list_instances: null,
    search_instances: null,
    get_instance: "instanceId",
    list_agent_kinds: "instanceId",
    list_directories: "instanceId",
    list_agent_identities: "instanceId",
    list_parked_sessions: "instanceId",
    // Sessions show whether their host is reachable.
    search_sessions: null,
    list_sessions: null,
  },
  session: {
    search_sessions: null,
    list_sessions: null,
    get_session_summary: "sessionId",
  },
  request: {
    search_requests: null,
    list_pending_requests: null,
    get_request: "requestId",
  },
};

/**
 * Results for which the service asks the host. An install changes its host's record many times, and a host that goes
 * away would only refuse: these are read less often, and after the record has said whether the host is online.
 */
const askedOfHosts = new Set([
  "list_agent_kinds",
  "list_directories",
  "list_agent_identities",
  "list_parked_sessions",
]);
const isAskedOfHost = ([action]: ResultKey) => askedOfHosts.has(action as string);

/** Whether a result may show something else after this event. */
export function isTouchedBy(event: FeedEvent, [action, input]: ResultKey): boolean {
  if (event.type === "resync") return true;
  const field = shownBy[event.record]?.[action as string];
  if (field === undefined) return false;
  return field === null || (input as Record<string, unknown> | undefined)?.[field] === event.id;
}

export interface Feed {
  onEvent: (event: FeedEvent) => void;
  stop: () => void;
}

export interface FeedOptions {
  refresh: (isTouched: (key: ResultKey) => boolean) => void;
  gatherMs?: number;
  /** For results for which a host is asked. */
  gatherOfHostsMs?: number;
}

/** Calls `refresh` once for all events of a moment, with a test for the keys that they touch. */
export function createFeed({
  refresh,
  gatherMs = 100,
  gatherOfHostsMs = 2_000,
}: FeedOptions): Feed {
  const feeds = [
    gather(gatherMs, refresh, (key) => !isAskedOfHost(key)),
    gather(gatherOfHostsMs, refresh, isAskedOfHost),
  ];
  return {
    onEvent: (event) => feeds.forEach((feed) => feed.onEvent(event)),
    stop: () => feeds.forEach((feed) => feed.stop()),
  };
}

function gather(
  gatherMs: number,
  refresh: FeedOptions["refresh"],
  isMeant: (key: ResultKey) => boolean,
): Feed {
  let gathered = new Map<string, FeedEvent>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const events = [...gathered.values()];
    gathered = new Map();
    refresh((key) => isMeant(key) && events.some((event) => isTouchedBy(event, key)));
  };
  return {
    onEvent(event) {
      gathered.set(event.type === "resync" ? "resync" : `${event.record} ${event.id}`, event);
      timer ??= setTimeout(flush, gatherMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** An event of the stream; undefined for one that this page does not know. */
export function readFeedEvent(event: string, data: string): FeedEvent | undefined {
  if (event === "resync") return { type: "resync" };
  if (event !== "changed") return undefined;
  const { record, id } = JSON.parse(data) as { record: string; id: string };
  return { type: "changed", record, id };
}
