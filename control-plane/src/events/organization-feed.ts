// Notices of changed records in an organization, for viewers. A notice may be lost: then the viewers
// receive `resync`, and read everything again.
//
// A lost notice is found in two ways: by the number of the next one, or by comparing the numbers that have
// arrived with those that the senders write to the database every second. The second way needs no notice at
// all (decision 0042).
import { setTimeout as pause } from "node:timers/promises";
import { organizationChangedSubject } from "@hawser/host-protocol";
import { oneAtATime } from "../one-at-a-time.ts";
import type { SystemSql } from "../postgres/statement.ts";
import type { NoticePosition, NoticeSubscription, NumberedNotices } from "./notices.ts";
import { selectPositions, writePositions } from "./position-store.ts";

export type ChangedRecord = "instance" | "session" | "request";

/** `changed`: read this record again. `resync`: read everything again. */
export type FeedEvent = { type: "changed"; record: ChangedRecord; id: string } | { type: "resync" };

export interface OrganizationFeed {
  /** Follows one organization until the returned function is called. */
  follow(organizationId: string, viewer: (event: FeedEvent) => void): () => void;
  /** Resolves once the current viewers receive every event, or after a short wait if the fabric is away. */
  settled(): Promise<void>;
  /** Notifies the viewers on every node. The id is the one that callers see. */
  changed(organizationId: string, record: ChangedRecord, id: string): void;
  /** Makes this node's viewers read everything again. */
  resync(): void;
  /** Writes which notices this node has sent since the last call. No-op if there are none. */
  flush(): Promise<void>;
  /** Finds the notices that did not arrive, in one query for all organizations that this node follows. */
  compare(): Promise<void>;
}

interface Followed {
  viewers: Set<(event: FeedEvent) => void>;
  subscription: NoticeSubscription;
  resyncedAt: number;
  /** A resync that is due. */
  timer?: NodeJS.Timeout | undefined;
}

/** A notice that is written as sent, and has not arrived, may still be under way. */
const lateNoticeMs = 500;
/** After this time the fabric counts as away, and what has not been read as lost. */
const longestReadMs = 2_000;
/** A fabric that loses many notices must not make every viewer read everything many times a second. */
const resyncEveryMs = 1_000;

/** Subscribes once per organization with viewers on this node, however many they are. */
export function createOrganizationFeed(
  system: SystemSql,
  notices: NumberedNotices,
): OrganizationFeed {
  const followed = new Map<string, Followed>();
  /** The last notice about each organization with unwritten ones. */
  let unwritten = new Map<string, { number: number; sentAt: number }>();

  function open(organizationId: string): Followed {
    const viewers: Followed["viewers"] = new Set();
    const subscription = notices.subscribe(organizationChangedSubject(organizationId), {
      take(event) {
        for (const viewer of viewers) viewer(event as FeedEvent);
      },
      lost: () => resyncSoon(feed),
    });
    const feed: Followed = { viewers, subscription, resyncedAt: -Infinity };
    followed.set(organizationId, feed);
    return feed;
  }

  function resyncSoon(feed: Followed): void {
    const waitMs = feed.resyncedAt + resyncEveryMs - performance.now();
    if (waitMs <= 0) resyncNow(feed);
    else feed.timer ??= setTimeout(() => resyncNow(feed), waitMs);
  }

  function resyncNow(feed: Followed): void {
    clearTimeout(feed.timer);
    feed.timer = undefined;
    feed.resyncedAt = performance.now();
    for (const viewer of feed.viewers) viewer({ type: "resync" });
  }

  const isMissing = ([organizationId, position]: readonly [string, NoticePosition]) =>
    followed.get(organizationId)?.subscription.lacks(position);

  return {
    follow(organizationId, viewer) {
      const feed = followed.get(organizationId) ?? open(organizationId);
      feed.viewers.add(viewer);
      return () => {
        feed.viewers.delete(viewer);
        if (feed.viewers.size > 0 || followed.get(organizationId) !== feed) return;
        followed.delete(organizationId);
        clearTimeout(feed.timer);
        feed.subscription.unsubscribe();
      };
    },
    settled: () => notices.settled(),
    changed(organizationId, record, id) {
      const event: FeedEvent = { type: "changed", record, id };
      const number = notices.publish(organizationChangedSubject(organizationId), event);
      unwritten.set(organizationId, { number, sentAt: performance.now() });
    },
    resync() {
      for (const feed of followed.values()) {
        feed.subscription.restart();
        resyncSoon(feed);
      }
    },
    // One at a time: an older number must not overwrite a newer one.
    flush: oneAtATime(async () => {
      if (unwritten.size === 0) return;
      const written = unwritten;
      unwritten = new Map();
      try {
        await system.rows(
          writePositions,
          notices.nodeId,
          [...written.keys()],
          [...written.values()].map(({ number }) => number),
          [...written.values()].map(({ sentAt }) => performance.now() - sentAt),
        );
      } catch (error) {
        unwritten = new Map([...written, ...unwritten]);
        throw error;
      }
    }),
    compare: oneAtATime(async () => {
      if (followed.size === 0) return;
      const rows = await system.rows(selectPositions, [...followed.keys()]);
      const missing = rows
        .map(({ organization_id, node_id: nodeId, number, sent_ago_ms: sentAgoMs }) => {
          return [organization_id, { nodeId, number, sentAgoMs }] as const;
        })
        .filter(isMissing);
      if (missing.length === 0) return;
      await pause(lateNoticeMs);
      // If this node is busy, notices wait to be read: those that came before this answer are read first.
      await notices.settled(longestReadMs);
      for (const [organizationId, position] of missing.filter(isMissing)) {
        followed.get(organizationId)!.subscription.giveUp(position);
      }
    }),
  };
}
