// GET /api/events: server-sent events of one organization. Lossy by design: a viewer that reads too
// slowly gets one `resync` in place of what it missed.
import { Refusal } from "@hawser/contract";
import { Hono } from "hono";
import type { Caller } from "../dispatch/caller.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { watchKey } from "./key-watch.ts";
import { respond } from "./rest.ts";

export interface Feed {
  /** Whether this caller may see any events. */
  mayFollow(caller: Caller): boolean;
  /** Gives the events that this caller may see. */
  follow(caller: Caller, viewer: (event: { type: string }) => void): () => void;
}

const mostWaiting = 256;
const keepAliveMs = 15_000;

export function eventStreamTransport(dispatcher: Dispatcher, feed: Feed): Hono {
  const app = new Hono();
  app.get("/api/events", async (c) => {
    // What answers GET also answers HEAD; but of that nobody reads the stream, and nothing ends it.
    if (c.req.method === "HEAD") {
      c.header("Allow", "GET");
      const refusal = new Refusal("method_not_allowed", "Only GET is served at this path.");
      return respond(c, { refusal });
    }
    const admitted = await dispatcher.admit(c.req.header("authorization"));
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
    const refusalOfKey = () => dispatcher.refusalOfKey(c.req.header("authorization"));
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
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let missed = false;
        const send = (text: string) => controller.enqueue(encoder.encode(text));
        const frame = (event: { type: string }) =>
          `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
        const unfollow = feed.follow(caller, (event) => {
          if ((controller.desiredSize ?? 0) <= 0) {
            missed = true;
            return;
          }
          if (missed) send(frame({ type: "resync" }));
          missed = false;
          send(frame(event));
        });
        const alive = setInterval(() => {
          if ((controller.desiredSize ?? 0) <= 0) return;
          send(missed ? frame({ type: "resync" }) : ": alive\n\n");
          missed = false;
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
      cancel: () => stop(),
    },
    { highWaterMark: mostWaiting },
  );
}
