// Text that agents are still writing, beside the log. It is published while somebody watches: the first
// words of a message at once, then at most every 50 ms. A publication may be lost, because the log's
// entry carries the whole message.
import { watchLeaseSeconds, type LiveText, type OpenText } from "@hawser/host-protocol";

export interface LiveLane {
  /** Publishes for the length of a lease. Returns the texts that are being written now. */
  watch(sessionId: string): OpenText[];
  text(sessionId: string, turnId: string | null, more: MoreText): void;
  /** Drops the text: the log has this message now. */
  finish(sessionId: string, itemId: string): void;
  /** Drops all texts of the session. */
  clear(sessionId: string): void;
  close(): void;
}

export type MoreText = Pick<LiveText, "itemId" | "kind" | "offset" | "text">;

/** May lose a publication without an error. */
export type PublishLive = (sessionId: string, text: LiveText) => void;

const paceMs = 50;
/** Longest text of one publication; a message of the fabric holds 1 MiB. */
const mostCharacters = 100_000;
/** A longer message is shown only once it is complete. */
const longestOpen = 300_000;

interface Item {
  open: OpenText;
  /** Characters that were published, or returned by watch(). */
  sentLength: number;
  timer: NodeJS.Timeout | undefined;
}

export function createLiveLane(
  publish: PublishLive,
  now: () => number = () => performance.now(),
): LiveLane {
  const items = new Map<string, Map<string, Item>>();
  const leases = new Map<string, number>();

  const isWatched = (sessionId: string) => (leases.get(sessionId) ?? 0) > now();

  function send(sessionId: string, item: Item): void {
    const { open } = item;
    while (item.sentLength < open.text.length) {
      const offset = item.sentLength;
      const text = open.text.slice(offset, offset + mostCharacters);
      item.sentLength += text.length;
      publish(sessionId, { ...open, text, offset });
    }
  }

  /** Sends at once, or at the end of the pause if the last publication was just sent. */
  function sendPaced(sessionId: string, item: Item): void {
    if (item.timer) return;
    send(sessionId, item);
    item.timer = setTimeout(() => {
      item.timer = undefined;
      if (item.sentLength < item.open.text.length && isWatched(sessionId)) {
        sendPaced(sessionId, item);
      }
    }, paceMs);
    item.timer.unref();
  }

  function drop(sessionId: string, itemId: string): void {
    const ofSession = items.get(sessionId);
    clearTimeout(ofSession?.get(itemId)?.timer);
    ofSession?.delete(itemId);
    if (ofSession?.size === 0) items.delete(sessionId);
  }

  return {
    watch(sessionId) {
      const isNew = !isWatched(sessionId);
      leases.set(sessionId, now() + watchLeaseSeconds * 1000);
      for (const [id, until] of leases) if (until <= now()) leases.delete(id);
      const open = [...(items.get(sessionId)?.values() ?? [])];
      // A new viewer gets all of it as the answer; for the others publications go on.
      if (isNew) for (const item of open) item.sentLength = item.open.text.length;
      return open.map((item) => ({ ...item.open }));
    },
    text(sessionId, turnId, { itemId, kind, offset, text }) {
      const ofSession = items.get(sessionId) ?? new Map<string, Item>();
      items.set(sessionId, ofSession);
      const item: Item = ofSession.get(itemId) ?? {
        open: { itemId, turnId, kind, text: "" },
        sentLength: 0,
        timer: undefined,
      };
      ofSession.set(itemId, item);
      const known = item.open.text;
      // Ignored: text behind a gap, and text beyond the limit.
      if (offset > known.length || offset + text.length > longestOpen) return;
      item.open.text = known.slice(0, offset) + text;
      item.sentLength = Math.min(item.sentLength, offset);
      if (isWatched(sessionId)) sendPaced(sessionId, item);
    },
    finish: drop,
    clear(sessionId) {
      for (const itemId of items.get(sessionId)?.keys() ?? []) drop(sessionId, itemId);
    },
    close() {
      for (const sessionId of items.keys()) this.clear(sessionId);
    },
  };
}
