// The HTTP routes of hosts: pairing, and a new token for an expired one. They belong to no registry and
// accept no API key; a host proves its identity with its own key. What they do is passed in.
import { randomUUID } from "node:crypto";
import { Refusal, errorBody, type Action } from "@hawser/contract";
import {
  PairRequest,
  RenewRequest,
  fabricPath,
  type PairReply,
  type RenewReply,
} from "@hawser/host-protocol";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { z } from "zod";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import { validate } from "../dispatch/validate.ts";
import type { Log } from "../log.ts";
import { DatabaseUnavailable } from "../postgres/database.ts";
import { readJsonBody } from "./json-body.ts";
import { callId, respond } from "./rest.ts";

export interface HostRoutes {
  /** Throws `not_found` for a wrong token. */
  pair: (request: PairRequest, callId: string) => Promise<PairReply>;
  nonce: () => string;
  renew: (request: RenewRequest) => Promise<RenewReply>;
  log: Log;
  /** How many wrong pairing tokens this node looks up, from all senders together. */
  wrongTokens?: { perSecond: number; burst: number };
}

const largestBody = 64 * 1024;

export function hostRoutes({ log, ...routes }: HostRoutes): Hono {
  const app = new Hono();
  const throttle = createThrottle(routes.wrongTokens ?? { perSecond: 20, burst: 100 });

  app.post("/api/hosts/pair", (c) =>
    answer(c, async (id) => {
      const request = await read(c, PairRequest);
      return c.json(await throttle(() => routes.pair(request, id)));
    }),
  );

  app.post("/api/hosts/nonce", (c) => answer(c, () => c.json({ nonce: routes.nonce() })));

  app.post("/api/hosts/renew", (c) =>
    answer(c, async () => {
      const reply = await routes.renew(await read(c, RenewRequest));
      if ("token" in reply) return c.json(reply);
      const refusal = new Refusal(
        "forbidden",
        "This host is no longer paired. Forget its credentials, and pair it again to use it.",
      );
      return c.json({ ...errorBody(refusal), ...reply }, 403);
    }),
  );

  app.all("/api/hosts/:route{pair|nonce|renew}", (c) => {
    c.header("Allow", "POST");
    return respond(c, {
      refusal: new Refusal("method_not_allowed", "Only POST is served at this path."),
    });
  });

  // The link itself is an upgrade, which the edge handles.
  app.all(fabricPath, (c) => {
    c.header("Upgrade", "websocket");
    const refusal = new Refusal("invalid_input", "Hosts connect here, by WebSocket.");
    return c.json(errorBody(refusal), 426);
  });
  return app;

  function answer(
    c: Context,
    work: (callId: string) => Response | Promise<Response>,
  ): Promise<Response> {
    return answerHost(c, log, work);
  }
}

/** Answers a host's request. An error of the work becomes a refusal. */
export async function answerHost(
  c: Context,
  log: Log,
  work: (callId: string) => Response | Promise<Response>,
): Promise<Response> {
  const id = callId(c);
  c.header("X-Request-Id", id);
  c.header("Cache-Control", "no-store");
  try {
    return await work(id);
  } catch (error) {
    return respond(c, { refusal: asRefusal(error, id, log) });
  }
}

function asRefusal(error: unknown, id: string, log: Log): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DatabaseUnavailable) {
    log.warn({ callId: id, err: error }, "database unavailable");
    return new Refusal("unavailable", "The service cannot reach its database. Try again.", {
      retryAfterMs: 1000,
    });
  }
  const incidentId = randomUUID();
  log.error({ callId: id, incidentId, err: error }, "a host's request failed");
  return new Refusal(
    "internal",
    "The service failed while carrying this out. Quote the incident id when you report it.",
    { incidentId },
  );
}

async function read<Schema extends z.ZodObject>(
  c: Context,
  input: Schema,
): Promise<z.output<Schema>> {
  return validate(
    { input } as unknown as Action,
    await readJsonBody(c.env as HttpBindings, largestBody),
  ) as z.output<Schema>;
}

/**
 * Limits the rate of wrong tokens, because each costs a query and an audit entry. Guessing a token is
 * hopeless at any rate; a valid one succeeds between two wrong ones.
 */
function createThrottle(limit: { perSecond: number; burst: number }) {
  const wrong = createTokenBuckets(limit);
  let closedUntil = 0;
  return async <T>(pair: () => Promise<T>): Promise<T> => {
    const retryAfterMs = Math.ceil(closedUntil - performance.now());
    if (retryAfterMs > 0) {
      throw new Refusal(
        "rate_limited",
        `Too many wrong pairing tokens were sent. Wait ${retryAfterMs} ms and try again.`,
        { retryAfterMs },
      );
    }
    try {
      return await pair();
    } catch (error) {
      if (error instanceof Refusal && error.code === "not_found") {
        const waitMs = wrong.take("pairing").retryAfterMs;
        if (waitMs !== undefined) closedUntil = performance.now() + waitMs;
      }
      throw error;
    }
  };
}
