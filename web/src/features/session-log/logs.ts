// The logs of the sessions that are open or were left a moment ago. A session that is shown is followed; one that was
// left keeps what it has read for five minutes.
import { useEffect, useState, useSyncExternalStore } from "react";
import { call } from "../../calls/call.ts";
import { pageHeaders } from "../../calls/page-person.ts";
import { watchWake } from "../../streams/browser.ts";
import { followView } from "../../streams/view.ts";
import type { Entry } from "./row.ts";
import type { LogPage, LogSnapshot, SessionLog } from "./store.ts";
import { createSessionLog } from "./store.ts";

const keptMs = 5 * 60_000;

interface Kept {
  log: SessionLog;
  forget: ReturnType<typeof setTimeout> | undefined;
}

const logs = new Map<string, Kept>();

function openLog(sessionId: string): SessionLog {
  const read = async (input: object, signal: AbortSignal): Promise<LogPage> => {
    const page = await call("list_session_events", { sessionId, ...input }, { signal });
    return { ...page, events: page.events as Entry[] };
  };
  return createSessionLog({
    readLast: (limit, signal) => read({ tail: true, limit }, signal),
    readAfter: (after, limit, signal) => read({ after, limit }, signal),
    follow: (options) =>
      followView({
        ...options,
        url: `/api/sessions/${encodeURIComponent(sessionId)}/events`,
        headers: pageHeaders,
        watchWake,
        document,
      }),
    onFrame: (draw) => {
      requestAnimationFrame(draw);
    },
    later: (ms, run) => {
      setTimeout(run, ms);
    },
    now: Date.now,
  });
}

/**
 * The log of a session, followed as long as the component is shown. A new sign-in connects again: the service refuses
 * the stream when the former one has ended.
 */
export function useSessionLog(
  sessionId: string,
  signInId: string | undefined,
): { log: SessionLog; snapshot: LogSnapshot } {
  const [kept] = useState(() => keep(sessionId));
  useEffect(() => {
    clearTimeout(kept.forget);
    logs.set(sessionId, kept);
    kept.log.start();
    return () => {
      kept.log.stop();
      kept.forget = setTimeout(() => logs.delete(sessionId), keptMs);
    };
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- a new sign-in connects again
  }, [kept, sessionId, signInId]);
  const snapshot = useSyncExternalStore(kept.log.subscribe, kept.log.get);
  return { log: kept.log, snapshot };
}

function keep(sessionId: string): Kept {
  const known = logs.get(sessionId);
  if (known) return known;
  const kept: Kept = { log: openLog(sessionId), forget: undefined };
  logs.set(sessionId, kept);
  return kept;
}
