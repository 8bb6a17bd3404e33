// GET /api/sessions/{sessionId}/events: a session's log, record and live text as server-sent events. A
// viewer that was cut off connects again with the last id it has received.
import { Refusal, notFound } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Dispatcher, Route } from "../dispatch/dispatcher.ts";
import type { Caller } from "../dispatch/caller.ts";
import type { ReadCredentials } from "./credentials.ts";
import { createKeyWatch } from "./key-watch.ts";
import type { OpenLimit } from "./open-limit.ts";
import { callId, respond } from "./rest.ts";

/** `text`: one line of JSON. Frames that a viewer can continue after have an id. */
export interface ViewFrame {
  event: string;
  id?: number;
  text: string;
}

export interface SessionView {
  /** Waits for frames; returns none if the view is over. */
  next: () => Promise<ViewFrame[]>;
  close: () => void;
}

export interface SessionViews {
  /** Undefined if the caller's organization has no such session. */
  open: (caller: Caller, sessionId: string, after: number) => Promise<SessionView | undefined>;
  /** Why the caller may not continue to view the session; undefined if they may. */
  refusalOf: (caller: Caller, sessionId: string) => Promise<Refusal | undefined>;
}

const followSession: Route = {
  name: "follow_session",
  permission: "sessions:view",
  openToGrants: "view",
  effect: "reads",
};
const keepAliveMs = 15_000;

export function sessionStreamTransport(
  dispatcher: Dispatcher,
  views: SessionViews,
  streams: OpenLimit,
  credentialsOf: ReadCredentials,
): Hono {
  const app = new Hono();
  const keys = createKeyWatch();
  const path = "/api/sessions/:sessionId/events";
  app.get(path, async (c) => {
    // GET routes also answer HEAD; nobody would read or end such a stream.
    if (c.req.method === "HEAD") return onlyGet(c);
    const credentials = credentialsOf(c);
    const admitted = await dispatcher.admit(credentials, followSession, callId(c));
    if ("refusal" in admitted) return respond(c, admitted);
    const after = readCursor(c);
    if (after instanceof Refusal) return respond(c, { refusal: after });
    const refused = streams.during((c.env as HttpBindings).outgoing, admitted.caller)(1);
    if (refused) return respond(c, { refusal: refused });
    const sessionId = c.req.param("sessionId");
    const view = await views.open(admitted.caller, sessionId, after);
    if (!view) return respond(c, { refusal: notFound("session") });
    const refusalOfKey = async () => {
      const again = await dispatcher.admitAgain(credentials, followSession);
      return "refusal" in again ? again.refusal : views.refusalOf(again.caller, sessionId);
    };
    const watchKey = (end: () => void) => keys.watch(refusalOfKey, end);
    return new Response(frameStream(view, watchKey), {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
  });
  app.all(path, onlyGet);
  return app;
}

function onlyGet(c: Context): Response {
  c.header("Allow", "GET");
  return respond(c, {
    refusal: new Refusal("method_not_allowed", "Only GET is served at this path."),
  });
}

/** A browser that reconnects sends its position as `Last-Event-ID`, which then overrides the query. */
function readCursor(c: Context): number | Refusal {
  const given = c.req.header("last-event-id") ?? c.req.query("after") ?? "0";
  if (/^\d{1,15}$/.test(given)) return Number(given);
  return new Refusal(
    "invalid_input",
    "The position to continue after must be the seq of an entry.",
    {
      fields: [{ field: "after", message: "must be the seq of an entry" }],
    },
  );
}

function frameStream(
  view: SessionView,
  watchKey: (end: () => void) => () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let alive: NodeJS.Timeout | undefined;
  let unwatch = () => {};
  const stop = () => {
    clearInterval(alive);
    unwatch();
    view.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode("retry: 1000\n\n"));
        alive = setInterval(() => {
          if ((controller.desiredSize ?? 0) >= 0) controller.enqueue(encoder.encode(": alive\n\n"));
        }, keepAliveMs);
        unwatch = watchKey(stop);
      },
      // Request the next frames only when the previous ones are sent: the view limits what waits.
      async pull(controller) {
        const frames = await view.next();
        if (frames.length > 0) {
          controller.enqueue(encoder.encode(frames.map(frameText).join("")));
          return;
        }
        stop();
        controller.close();
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  );
}

function frameText({ event, id, text }: ViewFrame): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${text}\n\n`;
}
