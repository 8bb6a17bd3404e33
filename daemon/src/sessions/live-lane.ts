// Text that agents are writing, beside the log: kept as far as it is, and published while somebody
// watches. The first words of a message go at once, then at most one publication in 50 ms. What is lost
// on the way is no loss: the log's entry brings the whole message.
import { watchLeaseSeconds, type LiveText, type OpenText } from "@hawser/host-protocol";

export interface LiveLane {
  /** Somebody watches, for as long as a lease; what is being written now. */
  watch(sessionId: string): OpenText[];
  text(sessionId: string, turnId: string | null, more: MoreText): void;
  /** The log has this message. */
  finish(sessionId: string, itemId: string): void;
  /** Nothing is being written in this session any more. */
  clear(sessionId: string): void;
  close(): void;
}

export type MoreText = Pick<LiveText, "itemId" | "kind" | "offset" | "text">;

/** `publish` may fail in silence. */
export type PublishLive = (sessionId: string, text: LiveText) => void;

const paceMs = 50;
/** In one publication; the fabric carries 1 MiB. */
const mostCharacters = 100_000;
/** A message of more than this is only seen when it is whole. */
const longestOpen = 300_000;

interface Item {
  open: OpenText;
  /** How much of it was published or told. */
  toldLength: number;
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
    while (item.toldLength < open.text.length) {
      const offset = item.toldLength;
      const text = open.text.slice(offset, offset + mostCharacters);
      item.toldLength += text.length;
      publish(sessionId, { ...open, text, offset });
    }
  }

  /** At once, unless it was just done; then when the time has come. */
  function sendPaced(sessionId: string, item: Item): void {
    if (item.timer) return;
    send(sessionId, item);
    item.timer = setTimeout(() => {
      item.timer = undefined;
      if (item.toldLength < item.open.text.length && isWatched(sessionId)) {
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
      // The answer brings all of it; those who watch already go on where they are.
      if (isNew) for (const item of open) item.toldLength = item.open.text.length;
      return open.map((item) => ({ ...item.open }));
    },
    text(sessionId, turnId, { itemId, kind, offset, text }) {
      const ofSession = items.get(sessionId) ?? new Map<string, Item>();
      items.set(sessionId, ofSession);
      const item: Item = ofSession.get(itemId) ?? {
        open: { itemId, turnId, kind, text: "" },
        toldLength: 0,
        timer: undefined,
      };
      ofSession.set(itemId, item);
      const known = item.open.text;
      // A gap cannot be filled, and what is too long is not carried along.
      if (offset > known.length || offset + text.length > longestOpen) return;
      item.open.text = known.slice(0, offset) + text;
      item.toldLength = Math.min(item.toldLength, offset);
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
