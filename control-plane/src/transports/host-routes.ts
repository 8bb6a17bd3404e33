// The HTTP routes of hosts: pairing, and a new token for an expired one. They belong to no registry and
// accept no API key; a host proves its identity with its own key. What they do is passed in.
import { randomUUID } from "node:crypto";
import { Refusal, errorBody, received, type Action, type MessageSchema } from "@hawser/contract";
import {
  PairRequest,
  RenewRequest,
  fabricPath,
  type PairReply,
  type RenewReply,
} from "@hawser/host-protocol";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import { validate } from "../dispatch/validate.ts";
import type { Log } from "../log.ts";
import { DatabaseUnavailable } from "../postgres/database.ts";
import { readJsonBody } from "./json-body.ts";
import { callId, respond } from "./rest.ts";

export interface HostRoutes {
  /**
   * Throws `not_found` for a wrong token. Calls `countWrongToken`, which may throw, before it does more
   * for a wrong token than look it up.
   */
  pair: (request: PairRequest, callId: string, countWrongToken: () => void) => Promise<PairReply>;
  nonce: () => string;
  renew: (request: RenewRequest) => Promise<RenewReply>;
  log: Log;
  /** How many wrong pairing tokens this node answers to one address. */
  wrongTokens?: { perSecond: number; burst: number };
}

const largestBody = 64 * 1024;

export function hostRoutes({ log, ...routes }: HostRoutes): Hono {
  const app = new Hono();
  const wrongTokens = createTokenBuckets(routes.wrongTokens ?? { perSecond: 20, burst: 100 });

  app.post("/api/hosts/pair", (c) =>
    answer(c, async (id) => {
      const request = await read(c, PairRequest);
      const { remoteAddress = "" } = (c.env as HttpBindings).incoming.socket;
      return c.json(await routes.pair(request, id, () => countWrongToken(remoteAddress)));
    }),
  );

  app.post("/api/hosts/nonce", (c) => answer(c, () => c.json({ nonce: routes.nonce() })));

  app.post("/api/hosts/renew", (c) =>
    answer(c, async () => {
      const reply = await routes.renew(await read(c, RenewRequest));
      if ("token" in reply) return c.json(reply);
      if ("forget" in reply) {
        const refusal = new Refusal(
          "forbidden",
          "This host was removed, or its key replaced. Pair it again to use it.",
        );
        return c.json({ ...errorBody(refusal, callId(c)), ...reply }, 403);
      }
      const { retryAfterMs } = reply;
      const refusal = new Refusal(
        "unavailable",
        "The service has no record of this host now. Keep its credentials, and ask again later.",
        { retryAfterMs },
      );
      c.header("Retry-After", String(Math.ceil(retryAfterMs / 1000)));
      return c.json({ ...errorBody(refusal, callId(c)), ...reply }, 503);
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
    return c.json(errorBody(refusal, callId(c)), 426);
  });
  return app;

  /**
   * Limits what wrong tokens cost: each of a known one is an audit entry. A valid token is never
   * counted, so a flood of wrong ones keeps no host out, even from the same address.
   */
  function countWrongToken(address: string): void {
    const { retryAfterMs } = wrongTokens.take(address);
    if (retryAfterMs === undefined) return;
    throw new Refusal(
      "rate_limited",
      `Too many wrong pairing tokens came from this address. Wait ${retryAfterMs} ms, and check the token before you try again.`,
      { retryAfterMs },
    );
  }

  function answer(
    c: Context,
    work: (callId: string) => Response | Promise<Response>,
  ): Promise<Response> {
    return answerHost(c, log, work);
  }
}

/** Answers a request that is no call of an action. An error of the work becomes a refusal. */
export async function answerHost(
  c: Context,
  log: Log,
  work: (callId: string) => Response | Promise<Response>,
): Promise<Response> {
  const id = callId(c);
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
  log.error({ callId: id, incidentId, err: error }, "a request failed");
  return new Refusal(
    "internal",
    "The service failed while carrying this out. Quote the incident id when you report it.",
    { incidentId },
  );
}

async function read<Message>(c: Context, message: MessageSchema<Message>): Promise<Message> {
  return validate(
    { input: received(message) } as unknown as Action,
    await readJsonBody(c.env as HttpBindings, { largest: largestBody }),
  ) as Message;
}
