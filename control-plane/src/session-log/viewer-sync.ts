// Keeps this node's viewers up to date although notices may be lost: compares what they show with the
// database every few seconds, and at once when something may have been missed.
import { compareViewersSubject } from "@hawser/host-protocol";
import type { Notices, NumberedNotices } from "../events/notices.ts";
import type { OrganizationFeed } from "../events/organization-feed.ts";
import type { Log } from "../log.ts";
import type { Follows } from "./follow.ts";

export interface ViewerSync {
  /** This node has missed notices, and nothing shows which: its viewers read everything again. */
  resync(): void;
  /** The fabric is back: both this node and the others have missed notices of each other. */
  reconnected(): void;
  /** Any record may differ from what viewers have seen: the viewers of every node read everything again. */
  resyncEveryNode(): void;
  close(): void;
}

interface ViewerSyncParts {
  /** The fabric's messages, without numbers. */
  messages: Notices;
  notices: Pick<NumberedNotices, "nodeId" | "settled">;
  feed: Pick<OrganizationFeed, "compare" | "flush" | "resync">;
  follows: Pick<Follows, "compare">;
  log: Log;
}

/** Asks every node to compare. */
interface CompareNotice {
  from: string;
  /** Whether viewers must read everything again, whatever the comparison finds. */
  resync: boolean;
}

/**
 * Together they limit how long a lost notice stays unnoticed: an organization's viewers wait for both, and for
 * the time that a late notice is given.
 */
const compareEveryMs = 3_000;
const writePositionsEveryMs = 1_000;

export function syncViewers(parts: ViewerSyncParts): ViewerSync {
  const { messages, notices, feed, follows, log } = parts;
  const { nodeId } = notices;

  const warnIfFailed = (what: string, work: Promise<unknown>) =>
    void work.catch((error: unknown) => log.warn({ err: error }, `${what} failed`));
  const compare = () =>
    warnIfFailed("comparison for viewers", Promise.all([follows.compare(), feed.compare()]));
  const writePositions = () => feed.flush();

  function resync(): void {
    feed.resync();
    // Compare when the subscriptions are in effect: a change after the comparison then causes a notice.
    warnIfFailed(
      "comparison for viewers",
      notices.settled().then(() => follows.compare()),
    );
  }

  const askEveryNode = (notice: CompareNotice) =>
    messages.publish(compareViewersSubject, JSON.stringify(notice));
  const unsubscribe = messages.subscribe(compareViewersSubject, {}, ({ data }) => {
    const asked = JSON.parse(Buffer.from(data).toString()) as CompareNotice;
    if (asked.from === nodeId) return;
    if (asked.resync) resync();
    else compare();
  });
  const timers = [
    // Compare even without the fabric, because all notices are lost then.
    setInterval(compare, compareEveryMs),
    setInterval(
      () => warnIfFailed("writing notice positions", writePositions()),
      writePositionsEveryMs,
    ),
  ];

  return {
    resync,
    reconnected() {
      resync();
      // The others find what they have missed only when the positions are written.
      const asked = writePositions().then(() => askEveryNode({ from: nodeId, resync: false }));
      warnIfFailed("writing notice positions", asked);
    },
    resyncEveryNode() {
      resync();
      askEveryNode({ from: nodeId, resync: true });
    },
    close() {
      timers.forEach(clearInterval);
      unsubscribe();
    },
  };
}
