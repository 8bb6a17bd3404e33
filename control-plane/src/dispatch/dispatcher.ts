// The one path from a call to its answer, for every transport and every product:
//
//   authenticate → find the action → rate limit → authorize → validate → idempotency → handle → audit
//
// The first check that fails answers, so nothing is revealed before the key and the permission are
// proven. The dispatcher knows actions only as data; the registry and the handlers know what they are
// about.
import { randomUUID } from "node:crypto";
import { Refusal, formatId, type Action, type Actions } from "@hawser/contract";
import { redactTexts, redactorFor, type Redact } from "../audit/redact.ts";
import type { ReadCounts } from "../audit/read-counts.ts";
import { insertEntry } from "../audit/store.ts";
import {
  DatabaseUnavailable,
  type Database,
  type TenantTransaction,
} from "../postgres/database.ts";
import type { Log } from "../log.ts";
import type { Caller, Credentials } from "./caller.ts";
import {
  auditValues,
  changeOnHost,
  changeRecords,
  type AnyHostHandler,
  type AnyRecordHandler,
} from "./changes.ts";
import { staleSignIn } from "./fresh-sign-in.ts";
import { IdempotentCall, type Outcome } from "./idempotency.ts";
import { asPromised } from "./promise.ts";
import type { RateState, TokenBuckets } from "./token-bucket.ts";
import { unavailable } from "./unavailable.ts";
import { validate } from "./validate.ts";

export interface Call {
  action: string;
  /** Read only after the key and the permission are proven. */
  body: (caller: Caller) => Promise<unknown>;
  idempotencyKey?: string | undefined;
  callId: string;
  transport: string;
}

export type Answer = ({ result: unknown } | { refusal: Refusal }) & {
  /** The key's remaining rate limit, if the call got that far. */
  rate?: RateState | undefined;
};

export type Listing = ({ actions: { name: string; action: Action }[] } | { refusal: Refusal }) & {
  rate?: RateState | undefined;
};

export interface Dispatcher {
  dispatch(credentials: Credentials, call: Call): Promise<Answer>;
  /**
   * A call that the service makes with the key of a caller it has found: without authentication and rate limit,
   * and with every other check.
   */
  dispatchAs(caller: Caller, call: Call): Promise<Answer>;
  /** The actions that this key may call. Counts as a call of the key. */
  list(credentials: Credentials): Promise<Listing>;
  /**
   * The caller of a route that is not an action. Counts as a call of the key. A read is counted; a
   * refused change has an audit entry.
   */
  admit(
    credentials: Credentials,
    route: Route,
    callId: string,
  ): Promise<Admitted | { refusal: Refusal }>;
  /** The caller of a key, for a route that must know it before it reads a message. Counts as no call. */
  identify(credentials: Credentials): Promise<{ caller: Caller } | { refusal: Refusal }>;
  /** Counts messages that are no calls of actions as calls of the key. Returns the refusal, if it has too few. */
  charge(caller: Caller, messages: number): Refusal | undefined;
  /**
   * The caller, as of now, of a key that was admitted to a route; the refusal if the key may no longer use the
   * route. A cached key is read again. Counts as no call.
   */
  admitAgain(
    credentials: Credentials,
    route: Route,
  ): Promise<{ caller: Caller } | { refusal: Refusal }>;
}

/** A path that is not an action, with what the dispatcher checks and records as it does for actions. */
export interface Route extends Pick<
  Action,
  "permission" | "effect" | "closedToAgents" | "openToGrants"
> {
  /** The name in read counts and audit entries. */
  name: string;
}

export interface Admitted {
  caller: Caller;
  /** Writes the audit entry of a change, in the transaction of the change. */
  writeEntry: (
    sql: TenantTransaction,
    input: Record<string, unknown>,
    records: Record<string, string>,
  ) => void;
}

export interface DispatcherParts {
  actions: Actions;
  /** One for each action, by its name. */
  handlers: Readonly<Record<string, unknown>>;
  /** Passed to every handler in its context. */
  services: object;
  database: Database;
  /** `fresh`: reads the key again, even if it is cached. */
  authenticate: (
    credentials: Credentials,
    options?: { fresh: boolean },
  ) => Promise<Caller | undefined>;
  buckets: TokenBuckets;
  /** The HMAC key for the hashes in idempotency rows. */
  pepper: Buffer;
  readCounts: ReadCounts;
  log: Log;
  observe: (call: { action: string; transport: string; outcome: string; seconds: number }) => void;
  deadlineMs?: number;
  leaseSeconds?: number;
}

interface Entry {
  action: Action;
  handler: AnyRecordHandler | AnyHostHandler;
  redact: Redact;
}

export function createDispatcher(parts: DispatcherParts): Dispatcher {
  const { database, services, buckets, log, deadlineMs = 30_000, leaseSeconds = 10 } = parts;
  // Use a Map, because a plain object has "constructor" and "__proto__".
  const entries = new Map<string, Entry>(
    Object.entries(parts.actions).map(([name, action]) => [
      name,
      { action, handler: parts.handlers[name] as Entry["handler"], redact: redactorFor(action) },
    ]),
  );

  return {
    async dispatch(credentials, call) {
      const started = performance.now();
      let caller: Caller | undefined;
      let rate: RateState | undefined;
      let answer: Answer;
      try {
        caller = await authenticate(credentials);
        const entry = find(call.action);
        rate = buckets.take(caller.apiKeyId);
        limit(rate);
        // What gives lasting access needs a sign-in that has not ended on another node.
        if (entry.action.needsFreshSignIn && caller.signIn) {
          caller = await authenticate(credentials, { fresh: true });
        }
        answer = asAnswer(await carryOut(caller, call, entry));
      } catch (error) {
        answer = { refusal: asRefusal(error, { callId: call.callId, action: knownName(call) }) };
      }
      report(caller, call, answer, (performance.now() - started) / 1000);
      return { ...answer, rate };
    },
    async dispatchAs(caller, call) {
      const started = performance.now();
      let answer: Answer;
      try {
        answer = asAnswer(await carryOut(caller, call, find(call.action)));
      } catch (error) {
        answer = { refusal: asRefusal(error, { callId: call.callId, action: knownName(call) }) };
      }
      report(caller, call, answer, (performance.now() - started) / 1000);
      return answer;
    },
    async list(credentials) {
      let rate: RateState | undefined;
      try {
        const caller = await authenticate(credentials);
        rate = buckets.take(caller.apiKeyId);
        limit(rate);
        const open = [...entries].filter(
          ([, { action }]) => refusalOfRight(reaching(caller, action), action) === undefined,
        );
        return { actions: open.map(([name, { action }]) => ({ name, action })), rate };
      } catch (error) {
        return { refusal: asRefusal(error, {}), rate };
      }
    },
    async admit(credentials, route, callId) {
      const { name } = route;
      try {
        const caller = reaching(await authenticate(credentials), route);
        limit(buckets.take(caller.apiKeyId));
        await authorize(caller, { action: name, callId }, route, refusalOfRight(caller, route));
        if (route.effect === "reads") parts.readCounts.count(caller, name);
        return {
          caller,
          writeEntry(sql, input, records) {
            const attempt = { caller, name, auditInput: redactTexts(input), callId };
            sql.later(insertEntry, ...auditValues(attempt, "done", records));
          },
        };
      } catch (error) {
        return { refusal: asRefusal(error, { callId, action: name }) };
      }
    },
    identify: (credentials) => identify(credentials),
    charge(caller, messages) {
      try {
        if (messages === 0) return undefined;
        const first = buckets.take(caller.apiKeyId);
        limit(first);
        // A bucket that is smaller than a batch must be able to pay for it.
        const others = Math.min(messages, Math.floor(first.burst)) - 1;
        if (others > 0) limit(buckets.take(caller.apiKeyId, others));
        return undefined;
      } catch (error) {
        return asRefusal(error, {});
      }
    },
    async admitAgain(credentials, route) {
      const identified = await identify(credentials, { fresh: true });
      if ("refusal" in identified) return identified;
      const caller = reaching(identified.caller, route);
      const refusal = refusalOfRight(caller, route);
      return refusal ? { refusal } : { caller };
    },
  };

  async function identify(credentials: Credentials, options?: { fresh: boolean }) {
    try {
      return { caller: await authenticate(credentials, options) };
    } catch (error) {
      return { refusal: asRefusal(error, {}) };
    }
  }

  async function authenticate(
    credentials: Credentials,
    options?: { fresh: boolean },
  ): Promise<Caller> {
    if (credentials.refused) throw credentials.refused;
    const caller = await parts.authenticate(credentials, options);
    if (caller) return caller;
    if (credentials.signIn) {
      throw new Refusal(
        "unauthenticated",
        "You are not signed in any more, or not to this organization. Sign in again.",
      );
    }
    throw new Refusal(
      "unauthenticated",
      "The API key is missing or not valid. Send it as: Authorization: Bearer <key>.",
    );
  }

  function find(name: string): Entry {
    const entry = entries.get(name);
    if (entry) return entry;
    throw new Refusal(
      "unknown_action",
      "There is no action of this name. GET /api/rest/actions lists the actions.",
    );
  }

  function limit({ retryAfterMs }: RateState): void {
    if (retryAfterMs === undefined) return;
    throw new Refusal(
      "rate_limited",
      `This key has made too many calls. Wait ${retryAfterMs} ms and call again.`,
      { retryAfterMs },
    );
  }

  async function carryOut(sender: Caller, call: Call, entry: Entry): Promise<Outcome> {
    const { action, handler } = entry;
    const caller = reaching(sender, action);
    await authorize(caller, call, action, refusalOfRight(caller, action));
    if (action.needsFreshSignIn && caller.signIn) {
      await authorize(caller, call, action, staleSignIn(caller.signIn.authenticatedForMs));
    }
    const input = validate(action, await call.body(caller));
    if (
      action.extraPermission?.when(input) &&
      !caller.permissions.has(action.extraPermission.permission)
    ) {
      await authorize(caller, call, action, missingPermission(action.extraPermission.permission));
    }
    if (action.effect === "reads") {
      parts.readCounts.count(caller, call.action);
      const sql = database.tenant(caller);
      const context = { ...services, caller, callId: call.callId, sql };
      const read = handler as AnyRecordHandler;
      return { result: await asPromised(action, () => read(context, input as never)) };
    }
    const change = {
      caller,
      name: call.action,
      action,
      input,
      auditInput: entry.redact(input),
      auditedIds: {},
      callId: call.callId,
      idempotent: idempotentCall(caller, call, input),
    };
    const runner = { database, services, deadlineMs };
    return typeof handler === "function"
      ? changeRecords(runner, change, handler)
      : changeOnHost(runner, change, handler);
  }

  /** Throws the refusal, if any, and writes an audit entry if the call would have changed something. */
  async function authorize(
    caller: Caller,
    call: Pick<Call, "action" | "callId">,
    action: Pick<Action, "effect">,
    refusal: Refusal | undefined,
  ): Promise<void> {
    if (!refusal) return;
    if (action.effect !== "reads") {
      const attempt = { caller, name: call.action, auditInput: {}, callId: call.callId };
      await database.tenant(caller).rows(insertEntry, ...auditValues(attempt, refusal.code));
    }
    throw refusal;
  }

  function idempotentCall(caller: Caller, call: Call, input: unknown): IdempotentCall | undefined {
    const key = call.idempotencyKey;
    if (key === undefined) return undefined;
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new Refusal(
        "invalid_input",
        "The idempotency key must be 1 to 255 visible ASCII characters.",
        {
          fields: [
            { field: "Idempotency-Key", message: "must be 1 to 255 visible ASCII characters" },
          ],
        },
      );
    }
    return new IdempotentCall(parts.pepper, leaseSeconds, caller, call.action, key, input);
  }

  function asRefusal(error: unknown, about: object): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof DatabaseUnavailable) {
      log.warn({ ...about, err: error }, "database unavailable");
      return unavailable(error);
    }
    const incidentId = randomUUID();
    log.error({ ...about, incidentId, err: error }, "call failed");
    return new Refusal(
      "internal",
      "The service failed while carrying this out. Quote the incident id when you report it.",
      {
        incidentId,
      },
    );
  }

  /** Only names of the registry reach labels and logs; other names would let callers write there. */
  function knownName(call: Call): string {
    return entries.has(call.action) ? call.action : "unknown";
  }

  function report(caller: Caller | undefined, call: Call, answer: Answer, seconds: number): void {
    const outcome = "refusal" in answer ? answer.refusal.code : "ok";
    const action = knownName(call);
    parts.observe({ action, transport: call.transport, outcome, seconds });
    const level =
      outcome === "ok" && entries.get(action)?.action.effect === "reads" ? "debug" : "info";
    log[level](
      {
        callId: call.callId,
        transport: call.transport,
        action,
        outcome,
        ms: Math.round(seconds * 1e6) / 1e3,
        organizationId: caller && formatId("organization", caller.organizationId),
        apiKeyId: caller && formatId("apiKey", caller.apiKeyId),
      },
      "call",
    );
  }
}

/** The caller as the action may serve it: a user without the permission reaches only what was granted to them. */
function reaching(
  caller: Caller,
  { permission, openToGrants }: Pick<Action, "permission" | "openToGrants">,
): Caller {
  const isAllowed = permission === null || caller.permissions.has(permission);
  if (isAllowed || openToGrants === undefined || !caller.usesGrants) return caller;
  return { ...caller, grantedAt: openToGrants };
}

function refusalOfRight(
  caller: Caller,
  action: Pick<Action, "permission" | "ownNeedsNoPermission" | "closedToAgents">,
): Refusal | undefined {
  const { permission, ownNeedsNoPermission } = action;
  const mayBeOwn = ownNeedsNoPermission && caller.scope === "user";
  const isAllowed = mayBeOwn || caller.grantedAt !== undefined;
  if (permission && !isAllowed && !caller.permissions.has(permission))
    return missingPermission(permission);
  if (action.closedToAgents && caller.scope === "agent") {
    return new Refusal("forbidden", "This action is closed to keys that agents hold.");
  }
  return undefined;
}

function missingPermission(permission: string): Refusal {
  return new Refusal(
    "forbidden",
    `This key lacks the permission ${permission}, which the action needs.`,
  );
}

function asAnswer(outcome: Outcome): Answer {
  if ("result" in outcome) return { result: outcome.result };
  const { code, message, details } = outcome.refusal;
  return { refusal: new Refusal(code, message, details) };
}
