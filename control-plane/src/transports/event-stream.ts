// GET /api/events: server-sent events of one organization. Lossy by design: if more events wait for a
// viewer than the limit, the oldest are dropped, and the viewer reads `resync` before the newest.
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Caller } from "../dispatch/caller.ts";
import type { Dispatcher, Route } from "../dispatch/dispatcher.ts";
import { watchKey } from "./key-watch.ts";
import type { OpenLimit } from "./open-limit.ts";
import { callId, respond } from "./rest.ts";

export interface Feed {
  /** Whether this caller may see any events. */
  mayFollow(caller: Caller): boolean;
  /** Gives the events that this caller may see. */
  follow(caller: Caller, viewer: (event: { type: string }) => void): () => void;
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

export function eventStreamTransport(dispatcher: Dispatcher, feed: Feed, streams: OpenLimit): Hono {
  const app = new Hono();
  app.get("/api/events", async (c) => {
    // GET routes also answer HEAD; nobody would read or end such a stream.
    if (c.req.method === "HEAD") {
      c.header("Allow", "GET");
      const refusal = new Refusal("method_not_allowed", "Only GET is served at this path.");
      return respond(c, { refusal });
    }
    const authorization = c.req.header("authorization");
    const admitted = await dispatcher.admit(authorization, followEvents, callId(c));
    if ("refusal" in admitted) return respond(c, admitted);
    const { caller } = admitted;
    if (!feed.mayFollow(caller)) {
      return respond(c, {
        refusal: new Refusal(
          "forbidden",
          "This key may see nothing that changes. It needs instances:view or sessions:view.",
        ),
      });
    }
    const refused = streams.during((c.env as HttpBindings).outgoing, caller)(1);
    if (refused) return respond(c, { refusal: refused });
    const refusalOfKey = () => dispatcher.refusalOfKey(authorization, followEvents);
    return new Response(eventStream(caller, feed, refusalOfKey), {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
  });
  return app;
}

function eventStream(
  caller: Caller,
  feed: Feed,
  refusalOfKey: () => Promise<Refusal | undefined>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop = () => {};
  let sendWaiting = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const waiting: { type: string }[] = [];
        let hasDropped = false;
        const hasRoom = () => (controller.desiredSize ?? 0) > 0;
        const send = (text: string) => controller.enqueue(encoder.encode(text));
        const frame = (event: { type: string }) =>
          `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
        sendWaiting = () => {
          if (waiting.length === 0 || !hasRoom()) return;
          if (hasDropped) waiting.unshift({ type: "resync" });
          hasDropped = false;
          send(waiting.splice(0).map(frame).join(""));
        };
        const unfollow = feed.follow(caller, (event) => {
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
        const unwatch = watchKey(refusalOfKey, () => {
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
