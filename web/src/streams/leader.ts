// One reader of the organization's events for all tabs of a browser. Over HTTP/1.1 a browser opens six connections to
// an origin, so a few tabs with a stream each would stop every page. The tab that holds a Web Lock reads and passes
// events on; when it goes, the next tab in line takes over and says `resync`, because events in between may be lost.
import type { ConnectionState } from "./connection.ts";
import type { FeedEvent } from "./feed.ts";

type Message =
  | { is: "event"; event: FeedEvent }
  | { is: "state"; state: ConnectionState }
  /** A tab that has just come asks for the state. */
  | { is: "ask" };

export interface SharedFeed {
  /** Distinguishes feeds: a browser can show two organizations. */
  name: string;
  /** Reads the stream until the signal; resolves earlier if the service refuses it. */
  read: (on: {
    event: (event: FeedEvent) => void;
    state: (state: ConnectionState) => void;
    signal: AbortSignal;
  }) => Promise<void>;
  onEvent: (event: FeedEvent) => void;
  onState: (state: ConnectionState) => void;
  /** Undefined where the page is not a secure context: then each tab reads for itself. */
  locks: LockManager | undefined;
  openChannel: (name: string) => BroadcastChannel;
  signal: AbortSignal;
}

/** Resolves when the signal is aborted, or when this tab reads and the service refuses the stream. */
export async function shareFeed(options: SharedFeed): Promise<void> {
  const { name, read, onEvent, onState, locks, openChannel, signal } = options;
  if (!locks) return read({ event: onEvent, state: onState, signal });
  const channel = openChannel(`hawser-feed ${name}`);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is a window's postMessage
  const send = (message: Message) => channel.postMessage(message);
  /** Set while this tab reads. */
  let state: ConnectionState | undefined;
  channel.addEventListener("message", ({ data }) => {
    const message = data as Message;
    if (message.is === "event") onEvent(message.event);
    if (message.is === "state") onState(message.state);
    if (message.is === "ask" && state) send({ is: "state", state });
  });
  send({ is: "ask" });
  try {
    await locks.request(`hawser-feed ${name}`, { signal }, () =>
      read({
        event(event) {
          onEvent(event);
          send({ is: "event", event });
        },
        state(next) {
          state = next;
          onState(next);
          send({ is: "state", state: next });
        },
        signal,
      }),
    );
  } catch (error) {
    // A tab that closes while it waits in line.
    if (!signal.aborted) throw error;
  } finally {
    channel.close();
  }
}
