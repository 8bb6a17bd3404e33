// REST: one POST per action, and the listing of the actions that a key may call. Translates bytes to a
// dispatch and back, and decides nothing.
import { randomUUID } from "node:crypto";
import { Refusal, errorBody, refusals } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Answer, Dispatcher } from "../dispatch/dispatcher.ts";
import { publishedSchemas } from "../dispatch/published-schema.ts";
import type { RateState } from "../dispatch/token-bucket.ts";
import type { ReadCredentials } from "./credentials.ts";
import { readJsonBody } from "./json-body.ts";
import type { OpenLimit } from "./open-limit.ts";

const actionPrefix = "/api/rest/actions/";

export function restTransport(
  dispatcher: Dispatcher,
  bodies: OpenLimit,
  credentialsOf: ReadCredentials,
): Hono {
  const app = new Hono();
  const actionPath = `${actionPrefix}*`;

  app.get("/api/rest/actions", async (c) => {
    const listing = await dispatcher.list(credentialsOf(c));
    if ("refusal" in listing) return respond(c, listing);
    if (listing.rate) setRateHeaders(c, listing.rate);
    const actions = listing.actions.map(({ name, action }) => ({
      name,
      summary: action.summary,
      group: action.group,
      permission: action.permission,
      effect: action.effect,
      ...publishedSchemas(action),
    }));
    return c.json({ actions });
  });

  // Must precede the actions' path, which matches this one too.
  app.all("/api/rest/actions", (c) => respond(c, notAllowed(c, "GET")));

  app.post(actionPath, async (c) => {
    const http = c.env as HttpBindings;
    const answer = await dispatcher.dispatch(credentialsOf(c), {
      action: c.req.path.slice(actionPrefix.length),
      body: (caller) => readJsonBody(http, { hold: bodies.during(http.outgoing, caller) }),
      idempotencyKey: c.req.header("idempotency-key"),
      callId: callId(c),
      transport: "rest",
    });
    return respond(c, answer);
  });

  app.all(actionPath, (c) => respond(c, notAllowed(c, "POST")));
  return app;
}

/**
 * The id of a call, which finds it in the logs and the audit trail. The answer has it in a header, so that
 * the caller can quote it. A caller's own id is kept if it is one line of plain characters.
 */
export function callId(c: Context): string {
  let id = c.get("callId") as string | undefined;
  if (id === undefined) {
    const given = c.req.header("x-request-id");
    id = given && /^[\w.-]{1,100}$/.test(given) ? given : randomUUID();
    c.set("callId", id);
    c.header("X-Request-Id", id);
  }
  return id;
}

function notAllowed(c: Context, allowed: string): Answer {
  c.header("Allow", allowed);
  return { refusal: new Refusal("method_not_allowed", `Only ${allowed} is served at this path.`) };
}

export function respond(c: Context, answer: Answer): Response {
  if (answer.rate) setRateHeaders(c, answer.rate);
  if ("result" in answer) return c.json({ result: answer.result });
  const { refusal } = answer;
  const { retryAfterMs } = refusal.details;
  if (retryAfterMs !== undefined) c.header("Retry-After", String(Math.ceil(retryAfterMs / 1000)));
  if (refusal.code === "unauthenticated") c.header("WWW-Authenticate", "Bearer");
  return c.json(errorBody(refusal, callId(c)), refusals[refusal.code].status as 400);
}

/** The fields of the IETF's RateLimit header draft. */
function setRateHeaders(c: Context, { burst, perSecond, remaining }: RateState): void {
  c.header("RateLimit-Policy", `"key";q=${Math.floor(burst)};w=${Math.ceil(burst / perSecond)}`);
  c.header(
    "RateLimit",
    `"key";r=${Math.floor(remaining)};t=${Math.ceil((burst - remaining) / perSecond)}`,
  );
}
