// What the streams need of this browser.
import type { FollowFeed } from "./follow-feed.ts";
import { createWatchWake, type WatchWake } from "./wake.ts";

/** Watches this window and this document. */
export const watchWake: WatchWake = (onWake) =>
  createWatchWake({ window, document, now: Date.now })(onWake);

/** Shares one feed between the tabs of this browser. */
export const tabs: Pick<FollowFeed, "locks" | "openChannel"> = {
  // Undefined over http from another machine, in spite of its type.
  locks: navigator.locks,
  openChannel: (name) => new BroadcastChannel(name),
};
