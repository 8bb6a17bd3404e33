// Notices of changed records in an organization, for viewers. A notice may be lost. A viewer that may
// have missed something receives `resync`, and reads everything again.
import { organizationChangedSubject } from "@hawser/host-protocol";

export type ChangedRecord = "instance" | "session" | "request";

/** `changed`: read this record again. `resync`: read everything again. */
export type FeedEvent = { type: "changed"; record: ChangedRecord; id: string } | { type: "resync" };

export interface OrganizationFeed {
  /** Follows one organization until the returned function is called. */
  follow(organizationId: string, viewer: (event: FeedEvent) => void): () => void;
  /** Notifies the viewers on every node. The id is the one that callers see. */
  changed(organizationId: string, record: ChangedRecord, id: string): void;
  /** Notifies this node's viewers that they may have missed something. */
  resync(): void;
}

/** How nodes send each other messages that may be lost. */
export interface Notices {
  publish(subject: string, data: string): void;
  subscribe(
    subject: string,
    options: object,
    take: (message: { data: Uint8Array }) => void,
  ): () => void;
}

/** Subscribes once per organization with viewers on this node, however many they are. */
export function createOrganizationFeed(notices: Notices): OrganizationFeed {
  const followed = new Map<
    string,
    { viewers: Set<(event: FeedEvent) => void>; unsubscribe: () => void }
  >();
  return {
    follow(organizationId, viewer) {
      let feed = followed.get(organizationId);
      if (!feed) {
        const viewers = new Set<(event: FeedEvent) => void>();
        const unsubscribe = notices.subscribe(
          organizationChangedSubject(organizationId),
          {},
          ({ data }) => {
            const event = JSON.parse(Buffer.from(data).toString()) as FeedEvent;
            for (const each of viewers) each(event);
          },
        );
        followed.set(organizationId, (feed = { viewers, unsubscribe }));
      }
      feed.viewers.add(viewer);
      const { viewers, unsubscribe } = feed;
      return () => {
        viewers.delete(viewer);
        if (viewers.size > 0 || followed.get(organizationId)?.viewers !== viewers) return;
        followed.delete(organizationId);
        unsubscribe();
      };
    },
    changed(organizationId, record, id) {
      const event: FeedEvent = { type: "changed", record, id };
      notices.publish(organizationChangedSubject(organizationId), JSON.stringify(event));
    },
    resync() {
      for (const { viewers } of followed.values())
        for (const viewer of viewers) viewer({ type: "resync" });
    },
  };
}
