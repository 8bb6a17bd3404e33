// POST /api/triggers/{triggerId}: where other systems send the events that start sessions. A sender has no API key;
// the signature of the body shows who it is. The sender's network address says nothing: behind a proxy it is that of
// all senders. So every limit is one of a trigger, or protects the rightful senders from the others.
import { Refusal, parseId } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { createTokenBuckets, type RateLimit } from "../dispatch/token-bucket.ts";
import type { Log } from "../log.ts";
import { answerHost } from "../transports/host-routes.ts";
import { readBody } from "../transports/json-body.ts";
import { respond } from "../transports/rest.ts";
import { afterBody } from "../transports/transfers.ts";
import { createPlaces, type PlaceLimits } from "./places.ts";
import { createReceive, type ReceiveParts } from "./receive.ts";
import { triggersPath } from "./record.ts";

const largestBody = 1024 * 1024;
/** Senders have their body ready. */
const bodyDeadlineMs = 5_000;

export interface TriggerRoutes extends Omit<ReceiveParts, "limit"> {
  log: Log;
  limits?: TriggerLimits;
}

interface TriggerLimits {
  /** Signed deliveries that this node accepts for one trigger. */
  signed: RateLimit;
  /** Bodies that arrive at the same time. Each may have 1 MiB. */
  bodies: PlaceLimits;
}

const usualLimits: TriggerLimits = {
  signed: { perSecond: 20, burst: 200 },
  bodies: { most: 64, mostOfTrigger: 16 },
};

export function triggerRoutes({ log, limits = usualLimits, ...parts }: TriggerRoutes): Hono {
  const app = new Hono();
  const receive = createReceive({ ...parts, limit: createTokenBuckets(limits.signed) });
  const places = createPlaces(limits.bodies);
  const path = `${triggersPath}:triggerId`;

  async function accept(c: Context, callId: string): Promise<Response> {
    const http = c.env as HttpBindings;
    const { headers } = http.incoming;
    const id = parseId("trigger", c.req.param("triggerId") ?? "");
    const received = await afterBody(http, () =>
      receive({ id, headers, callId, readBody: (triggerId) => readBodyOf(triggerId, http) }),
    );
    return c.json(received, "runId" in received ? 202 : 200);
  }

  async function readBodyOf(triggerId: string, http: HttpBindings): Promise<Buffer> {
    using place = places.enter(triggerId);
    const { signal } = place;
    return await readBody(http, { largest: largestBody, deadlineMs: bodyDeadlineMs, signal });
  }

  app.post(path, (c) => answerHost(c, log, (callId) => accept(c, callId)));

  app.all(path, (c) => {
    c.header("Allow", "POST");
    return respond(c, {
      refusal: new Refusal("method_not_allowed", "Only POST is served at this path."),
    });
  });
  return app;
}
