// The text that agents are writing right now, for viewers. A host publishes it only while a node asks
// for it, so a node renews its request as long as it has viewers. Text that is lost here appears in the
// log a moment later.
import { received } from "@hawser/contract";
import { LiveText, liveSubject, watchLeaseSeconds } from "@hawser/host-protocol";
import type { Notices } from "../events/notices.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import { oneAtATime } from "../one-at-a-time.ts";

/** A session by the ids that callers see. */
export interface Watched {
  instanceId: string;
  sessionId: string;
}

/** Receives a piece of text as JSON, which all viewers share: a piece may have a megabyte. */
export type LiveViewer = (json: string) => void;

export interface LiveWatch {
  /** Delivers the text that is being written, from its beginning, until the returned function is called. */
  watch(watched: Watched, viewer: LiveViewer): () => void;
}

interface LiveWatchParts {
  notices: Notices;
  hosts: Pick<HostAsker, "read">;
  renewEveryMs?: number;
}

interface Watching {
  viewers: Set<LiveViewer>;
  /** Viewers that have not received the beginning of the text. */
  fresh: Set<LiveViewer>;
  /** Viewers that join while the host is asked share the next request. */
  renew: () => Promise<void>;
  stop: () => void;
}

const actor = { type: "service", id: "viewers" };

/**
 * Holds one subscription and one lease per session that is watched on this node, and asks the host once at a
 * time, however many viewers join.
 */
export function createLiveWatch(parts: LiveWatchParts): LiveWatch {
  const { notices, hosts, renewEveryMs = (watchLeaseSeconds * 1000) / 3 } = parts;
  const watched = new Map<string, Watching>();

  function begin({ instanceId, sessionId }: Watched): Watching {
    const viewers: Watching["viewers"] = new Set();
    const fresh: Watching["fresh"] = new Set();
    const jsonOf = (text: LiveText) => JSON.stringify({ sessionId, ...text });
    const unsubscribe = notices.subscribe(liveSubject(instanceId, sessionId), {}, ({ data }) => {
      const { success, data: text } = received(LiveText).safeParse(
        JSON.parse(Buffer.from(data).toString()) as unknown,
      );
      if (!success) return;
      const json = jsonOf(text);
      for (const viewer of viewers) viewer(json);
    });
    const renew = oneAtATime(async () => {
      if (viewers.size === 0) return;
      const greeted = [...fresh];
      try {
        const reading = { actor, isOnline: false };
        const { open } = await hosts.read(instanceId, "watch_session", { sessionId }, reading);
        const begun = open.map((text) => jsonOf({ ...text, offset: 0 }));
        for (const viewer of greeted) {
          if (!fresh.delete(viewer)) continue;
          for (const json of begun) viewer(json);
        }
      } catch {
        // The host is away. The beginning of what it writes until it is back reaches no viewer, so
        // every viewer needs it again.
        for (const viewer of viewers) fresh.add(viewer);
      }
    });
    const timer = setInterval(() => void renew(), renewEveryMs);
    const stop = () => {
      clearInterval(timer);
      unsubscribe();
    };
    return { viewers, fresh, renew, stop };
  }

  return {
    watch(session, viewer) {
      const { sessionId } = session;
      const watching = watched.get(sessionId) ?? begin(session);
      watched.set(sessionId, watching);
      watching.viewers.add(viewer);
      watching.fresh.add(viewer);
      void watching.renew();
      return () => {
        watching.viewers.delete(viewer);
        watching.fresh.delete(viewer);
        if (watching.viewers.size > 0 || watched.get(sessionId) !== watching) return;
        watched.delete(sessionId);
        watching.stop();
      };
    },
  };
}
