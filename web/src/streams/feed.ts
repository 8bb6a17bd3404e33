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

/** Calls `refresh` once for all events of a moment, with a test for the keys that they touch. */
export function createFeed({
  refresh,
  gatherMs = 100,
}: {
  refresh: (isTouched: (key: ResultKey) => boolean) => void;
  gatherMs?: number;
}): Feed {
  let gathered = new Map<string, FeedEvent>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const events = [...gathered.values()];
    gathered = new Map();
    refresh((key) => events.some((event) => isTouchedBy(event, key)));
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
