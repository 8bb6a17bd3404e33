// Follows the organization's events for as long as the page is open: one connection for all tabs, and after each
// connection everything on the screen is read once, because events have no numbers.
import { keepConnected, type ConnectionState, type KeepConnected } from "./connection.ts";
import { readFeedEvent, type FeedEvent } from "./feed.ts";
import { shareFeed, type SharedFeed } from "./leader.ts";

export interface FollowFeed
  extends
    Pick<KeepConnected, "watchWake" | "silenceMs" | "pauseMs" | "now">,
    Pick<SharedFeed, "locks" | "openChannel" | "name"> {
  url: string;
  headers: () => Record<string, string>;
  onEvent: (event: FeedEvent) => void;
  onState: (state: ConnectionState) => void;
  signal: AbortSignal;
}

export function followFeed(options: FollowFeed): Promise<void> {
  const { url, headers } = options;
  return shareFeed({
    ...options,
    read: ({ event, state, signal }) =>
      keepConnected({
        ...options,
        target: () => ({ url, headers: headers() }),
        onOpen: () => event({ type: "resync" }),
        onFrame(frame) {
          const read = readFeedEvent(frame.event, frame.data);
          if (read) event(read);
        },
        onState: state,
        signal,
      }),
  });
}
