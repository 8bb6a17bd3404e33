// Carries out a call that changes something and writes its audit entry. A call with an idempotency key
// takes effect exactly once.
//
//   records  one transaction: idempotency row, effect, result, audit entry
//   host     two: before the host is asked (row, intended state, audit) and after (outcome, audit);
//            none is open while the host is asked
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal, type Action, type RefusalDetails } from "@hawser/contract";
import { recordIds } from "../audit/redact.ts";
import { insertEntry } from "../audit/store.ts";
import type { Database, TenantTransaction } from "../postgres/database.ts";
import type { Caller } from "./caller.ts";
import {
  OutcomeUnknown,
  type ChangeContext,
  type HostHandler,
  type RecordHandler,
  type UnknownOutcome,
} from "./handler.ts";
import type { Claim, Claimed, IdempotentCall, Outcome } from "./idempotency.ts";
import { asPromised } from "./promise.ts";

/** A change that has passed every check before its handler. */
export interface Change {
  caller: Caller;
  name: string;
  action: Action;
  input: Record<string, unknown>;
  /** The input as the audit trail may store it. */
  auditInput: Record<string, unknown>;
  /** Ids that the handler adds to the audit entries. */
  auditedIds: Record<string, string>;
  callId: string;
  idempotent: IdempotentCall | undefined;
}

export type AnyRecordHandler = RecordHandler<never, object>;
export type AnyHostHandler = HostHandler<never, object>;

export interface ChangeRunner {
  database: Database;
  services: object;
  /** How long a caller waits for a host, or for another call with the same idempotency key. */
  deadlineMs: number;
}

export async function changeRecords(
  { database, services }: ChangeRunner,
  change: Change,
  handler: AnyRecordHandler,
): Promise<Outcome> {
  const { caller, idempotent } = change;
  return database.tenantTransaction(caller, async (sql) => {
    const claimed = idempotent ? await idempotent.claim(sql) : newClaim();
    if ("outcome" in claimed) return claimed.outcome;
    if ("elsewhere" in claimed) throw inProgress(change);
    const context = contextOf(change, sql, claimed.mine, services);
    const outcome = await settle(change.action, () =>
      sql.savepoint(() => handler(context as never, change.input as never)),
    );
    audit(sql, change, outcome);
    await idempotent?.finish(sql, claimed.mine, outcome);
    return outcome;
  });
}

export async function changeOnHost(
  runner: ChangeRunner,
  change: Change,
  handler: AnyHostHandler,
): Promise<Outcome> {
  const { database, services, deadlineMs } = runner;
  const { caller, idempotent } = change;
  const input = change.input as never;
  const deadline = AbortSignal.timeout(deadlineMs);

  const prepared = await prepare();
  if ("outcome" in prepared) return prepared.outcome;
  const { claim, intent } = prepared;
  // What the host did is recorded even if a grant was revoked meanwhile.
  const begun = { ...change, caller: withoutGrantedAt(caller) };
  const overtaken = new AbortController();
  const asked = await ask();
  if ("outcome" in asked) return asked.outcome;
  const outcome = await conclude(asked);
  return outcome ?? waitForOutcome();

  /** Runs the first transaction, or returns the outcome that another call with the same key has reached. */
  async function prepare(): Promise<{ claim: Claim; intent: unknown } | { outcome: Outcome }> {
    for (;;) {
      const reached = await database.tenantTransaction(caller, async (sql) => {
        const claimed = idempotent ? await idempotent.claim(sql) : newClaim();
        if (!("mine" in claimed)) return claimed;
        const claim = claimed.mine;
        const context = contextOf(change, sql, claim, services);
        let intent = claim.intent;
        const outcome = await settle(change.action, async () => {
          if (claim.resumed) await beforeRetry(context, claim);
          else intent = await sql.savepoint(() => handler.prepare(context, input));
          return undefined;
        });
        if ("refusal" in outcome) {
          audit(sql, change, outcome);
          await idempotent?.finish(sql, claim, outcome);
          return { outcome };
        }
        if (claim.resumed) return { claim, intent };
        idempotent?.keepIntent(sql, claim, intent);
        sql.later(insertEntry, ...auditValues(change, "accepted", change.auditedIds));
        return { claim, intent };
      });
      if (!("elsewhere" in reached)) return reached;
      await waitBriefly();
    }
  }

  async function beforeRetry(context: ChangeContext, { intent }: Claim): Promise<void> {
    try {
      await handler.beforeRetry?.(context, input, intent);
    } catch (error) {
      if (error instanceof Refusal) await handler.undo?.(context, input, intent, error);
      throw error;
    }
  }

  async function ask(): Promise<Asked | { outcome: Outcome }> {
    using _lease = idempotent?.holdLease(database, claim, () => overtaken.abort());
    const signal = AbortSignal.any([deadline, overtaken.signal]);
    const context = {
      caller,
      callId: change.callId,
      commandId: claim.commandId,
      resumed: claim.resumed,
      signal,
      ...services,
    };
    try {
      return { answer: await handler.ask(context, input, intent) };
    } catch (error) {
      // `unavailable` is not an outcome: if it were stored, every retry would receive it.
      if (error instanceof Refusal && error.code !== "unavailable") return { refusal: error };
      // Nobody knows whether the host acted. A retry asks again under the same command id.
      const isUnknown = deadline.aborted || error instanceof OutcomeUnknown;
      // If another node has taken the call over, that node records its outcome.
      const mayBeginMs = error instanceof OutcomeUnknown ? error.mayBeginMs : undefined;
      const recorded =
        isUnknown && !overtaken.signal.aborted ? await recordUnknown(mayBeginMs) : undefined;
      if (recorded && "outcome" in recorded) return recorded;
      await idempotent?.giveUp(database, claim);
      if (isUnknown) throw inProgress(change, recorded);
      throw error;
    }
  }

  /** The outcome, if the handler has one for the caller all the same. */
  async function recordUnknown(
    mayBeginMs: number | undefined,
  ): Promise<{ outcome: Outcome } | UnknownOutcome> {
    if (!handler.unknown) return {};
    return database.tenantTransaction(begun.caller, async (sql) => {
      const context = contextOf(begun, sql, claim, services);
      const recorded = await handler.unknown!(context, input, intent, mayBeginMs);
      if (!("result" in recorded)) return recorded;
      const outcome = await settle(change.action, () => Promise.resolve(recorded.result));
      audit(sql, change, outcome);
      if (idempotent && !(await idempotent.finish(sql, claim, outcome))) return {};
      return { outcome };
    });
  }

  /** Runs the second transaction. Undefined if another node has taken the call over. */
  async function conclude(asked: Asked): Promise<Outcome | undefined> {
    try {
      return await database.tenantTransaction(begun.caller, async (sql) => {
        const context = contextOf(begun, sql, claim, services);
        const outcome = await settle(change.action, async () => {
          if ("refusal" in asked) {
            await handler.undo?.(context, input, intent, asked.refusal);
            throw asked.refusal;
          }
          return sql.savepoint(async () => handler.conclude(context, input, intent, asked.answer));
        });
        audit(sql, change, outcome);
        if (idempotent && !(await idempotent.finish(sql, claim, outcome))) throw new Overtaken();
        return outcome;
      });
    } catch (error) {
      if (error instanceof Overtaken) return undefined;
      throw error;
    }
  }

  async function waitForOutcome(): Promise<Outcome> {
    for (;;) {
      const reached = await idempotent!.outcome(database.tenant(caller));
      if (reached) return reached;
      await waitBriefly();
    }
  }

  async function waitBriefly(): Promise<void> {
    if (deadline.aborted) throw inProgress(change);
    await sleep(100);
  }
}

function withoutGrantedAt({ grantedAt: _grantedAt, ...caller }: Caller): Caller {
  return caller;
}

/** The host's answer, or its refusal. */
type Asked = { answer: unknown } | { refusal: Refusal };

class Overtaken extends Error {}

function newClaim(): Extract<Claimed, { mine: Claim }> {
  return { mine: { commandId: randomUUID(), fence: 1, resumed: false } };
}

function contextOf(
  change: Change,
  sql: TenantTransaction,
  claim: Claim,
  services: object,
): ChangeContext {
  const { caller, callId, auditedIds } = change;
  return { ...services, caller, callId, sql, commandId: claim.commandId, auditedIds };
}

/** A refusal is an outcome, which is stored for retries. Any other error is our fault, and is not stored. */
async function settle(action: Action, work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await asPromised(action, work) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refusal: { code: error.code, message: error.message, details: error.details } };
  }
}

function audit(sql: TenantTransaction, change: Change, outcome: Outcome): void {
  const refused = "refusal" in outcome;
  const records = { ...(refused ? {} : recordIds(outcome.result)), ...change.auditedIds };
  sql.later(insertEntry, ...auditValues(change, refused ? outcome.refusal.code : "done", records));
}

/** Who did something, for the audit trail. */
export type AuditedCaller = Pick<Caller, "organizationId" | "userId" | "sessionId" | "signIn"> & {
  /** Null for what the service does itself. */
  apiKeyId: string | null;
};

/** The values of an audit entry's insert, for a change or for an attempt at one. */
export function auditValues(
  attempt: Pick<Change, "name" | "auditInput" | "callId"> & { caller: AuditedCaller },
  outcome: string,
  records: Record<string, string> = {},
): unknown[] {
  const { caller, name, auditInput, callId } = attempt;
  const { organizationId, apiKeyId, userId, sessionId, signIn } = caller;
  const what = [name, outcome, auditInput, records, callId];
  return [organizationId, apiKeyId, userId, sessionId, ...what, signIn?.signInId ?? null];
}

/** The refusal of a call whose outcome is not known, with advice that a caller without a key can follow. */
function inProgress(
  { idempotent, action, name }: Change,
  { details, advice }: UnknownOutcome = {},
): Refusal {
  const why = action.reach === "host" ? unknownOutcome : unfinishedCall;
  const refuse = (what: string, more: RefusalDetails) =>
    new Refusal("in_progress", `${why} ${what}`, { ...details, ...more });
  if (idempotent) {
    return refuse("Call again with the same idempotency key to get its outcome.", {
      retryAfterMs: 1000,
    });
  }
  if (action.idempotent) {
    return refuse(`Call ${name} again after a moment; a second call changes nothing more.`, {
      retryAfterMs: 1000,
    });
  }
  // Without retryAfterMs: a repeated call without a key could take effect twice.
  const where = action.shownBy ?? "Reading the record";
  const look = advice ?? `${where} shows whether it took effect; look before you call again.`;
  return refuse(`${look} A call with an idempotency key can be repeated safely.`, {
    retry: "changed",
    ...(action.shownBy && { nextAction: action.shownBy }),
  });
}

/** A change of records alone is unfinished only for a second call with its idempotency key. */
const unfinishedCall = "An earlier call with the same idempotency key is not finished.";
const unknownOutcome =
  "The host has not answered yet, so it is not known whether this call takes effect.";
