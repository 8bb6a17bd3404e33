// GET /api/events: server-sent events of one organization. Lossy by design: if more events wait for a
// viewer than the limit, the oldest are dropped, and the viewer reads `resync` before the newest.
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Caller } from "../dispatch/caller.ts";
import type { Dispatcher, Route } from "../dispatch/dispatcher.ts";
import type { FeedEvent } from "../events/organization-feed.ts";
import type { ReadCredentials } from "./credentials.ts";
import { createKeyWatch } from "./key-watch.ts";
import type { OpenLimit } from "./open-limit.ts";
import { callId, respond } from "./rest.ts";

export interface Feed {
  /** Whether this caller may see any events. */
  mayFollow(caller: Caller): boolean;
  maySee(caller: Caller, event: FeedEvent): boolean;
  /** Delivers the events of an organization until the returned function is called. */
  follow(organizationId: string, viewer: (event: FeedEvent) => void): () => void;
  /** Resolves once the current viewers receive every event, or after a short wait. */
  settled(): Promise<void>;
}

/** Closed to agents: events are about every session of the organization. */
const followEvents: Route = {
  name: "follow_events",
  permission: null,
  effect: "reads",
  closedToAgents: true,
};
/** How many events may wait for one viewer. */
const mostWaiting = 256;
const keepAliveMs = 15_000;

export function eventStreamTransport(
  dispatcher: Dispatcher,
  feed: Feed,
  streams: OpenLimit,
  credentialsOf: ReadCredentials,
  keys = createKeyWatch(),
): Hono {
  const app = new Hono();
  app.get("/api/events", async (c) => {
    // GET routes also answer HEAD; nobody would read or end such a stream.
    if (c.req.method === "HEAD") {
      c.header("Allow", "GET");
      const refusal = new Refusal("method_not_allowed", "Only GET is served at this path.");
      return respond(c, { refusal });
    }
    const credentials = credentialsOf(c);
    const admitted = await dispatcher.admit(credentials, followEvents, callId(c));
    if ("refusal" in admitted) return respond(c, admitted);
    let { caller } = admitted;
    if (!feed.mayFollow(caller)) return respond(c, { refusal: seesNothing() });
    const refused = streams.during((c.env as HttpBindings).outgoing, caller)(1);
    if (refused) return respond(c, { refusal: refused });
    const checkKey = async () => {
      const again = await dispatcher.admitAgain(credentials, followEvents);
      if ("refusal" in again) return again.refusal;
      // What the caller may see is decided by the permissions of now, not by those of the opening.
      ({ caller } = again);
      return feed.mayFollow(caller) ? undefined : seesNothing();
    };
    const stream = eventStream({
      follow: (viewer) =>
        feed.follow(caller.organizationId, (event) => {
          if (feed.maySee(caller, event)) viewer(event);
        }),
      watchKey: (end) => keys.watch(checkKey, end),
    });
    // A caller that reads its records once the stream is open misses no change after that.
    await feed.settled();
    return new Response(stream, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
  });
  return app;
}

const seesNothing = () =>
  new Refusal(
    "forbidden",
    "This key may see nothing that changes. It needs instances:view or sessions:view.",
  );

interface StreamParts {
  follow: (viewer: (event: FeedEvent) => void) => () => void;
  watchKey: (end: () => void) => () => void;
}

function eventStream({ follow, watchKey }: StreamParts): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop = () => {};
  let sendWaiting = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const waiting: FeedEvent[] = [];
        let hasDropped = false;
        const hasRoom = () => (controller.desiredSize ?? 0) > 0;
        const send = (text: string) => controller.enqueue(encoder.encode(text));
        const frame = (event: FeedEvent) =>
          `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
        sendWaiting = () => {
          if (waiting.length === 0 || !hasRoom()) return;
          if (hasDropped) waiting.unshift({ type: "resync" });
          hasDropped = false;
          send(waiting.splice(0).map(frame).join(""));
        };
        const unfollow = follow((event) => {
          waiting.push(event);
          if (waiting.length > mostWaiting) {
            waiting.shift();
            hasDropped = true;
          }
          sendWaiting();
        });
        const alive = setInterval(() => {
          if (hasRoom()) send(": alive\n\n");
        }, keepAliveMs);
        const unwatch = watchKey(() => {
          stop();
          controller.close();
        });
        stop = () => {
          clearInterval(alive);
          unwatch();
          unfollow();
        };
        send("retry: 1000\n\n");
      },
      // The viewer has read what it was sent.
      pull: () => sendWaiting(),
      cancel: () => stop(),
    },
    { highWaterMark: 1 },
  );
}
