// The types of the handlers that a product writes, one per action. The dispatcher decides which
// transactions a handler runs in, so a handler reads as the happy path and throws refusals by name.
import type { Action, Actions, InputOf, Refusal, RefusalDetails, ResultOf } from "@hawser/contract";
import type { TenantTransaction } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import type { Caller } from "./caller.ts";

interface CallContext {
  caller: Caller;
  callId: string;
}

/** A read: every statement is its own transaction. */
export interface ReadContext extends CallContext {
  sql: TenantSql;
}

/** A change: one transaction, which also contains the idempotency row and the audit entry. */
export interface ChangeContext extends CallContext {
  sql: TenantTransaction;
  /** The same for every retry with the same idempotency key. */
  commandId: string;
  /** Ids that the call's audit entries contain besides those of its result. A handler adds to it. */
  auditedIds: Record<string, string>;
}

/** While a host is asked, outside every transaction. */
export interface AskContext extends CallContext {
  commandId: string;
  /** A node that died may have asked before, under the same id. */
  resumed: boolean;
  /** Aborted when the caller's deadline has passed or another node has taken the call over. */
  signal: AbortSignal;
}

/** Thrown by `ask` if it is unknown whether the host acted. A retry asks again under the same id. */
export class OutcomeUnknown extends Error {
  /** For how long the host may still begin to act; undefined if that is not known. */
  readonly mayBeginMs: number | undefined;

  constructor(message?: string, mayBeginMs?: number) {
    super(message);
    this.mayBeginMs = mayBeginMs;
  }
}

type ContextOf<A extends Action> = A["effect"] extends "reads" ? ReadContext : ChangeContext;

export type RecordHandler<A extends Action, Services> = (
  context: ContextOf<A> & Services,
  input: InputOf<A>,
) => Promise<ResultOf<A>>;

/**
 * A change that a host carries out. No transaction is open while the host is asked: `prepare` commits
 * the intended state, `conclude` the outcome. If a node dies in between, the caller's retry asks again
 * under the same command id, so `ask` must be safe to repeat; the host's journal guarantees that. The
 * intent is stored as JSON for the retry, which may reach a newer version of this service: fields may
 * be added to it, but not renamed.
 */
export interface HostHandler<A extends Action, Services, Intent = unknown, Answer = unknown> {
  prepare(context: ChangeContext & Services, input: InputOf<A>): Promise<Intent>;
  /** Called before a retry asks the host again. Throws a refusal if the host must not be asked any more. */
  beforeRetry?(context: ChangeContext & Services, input: InputOf<A>, intent: Intent): Promise<void>;
  ask(context: AskContext & Services, input: InputOf<A>, intent: Intent): Promise<Answer>;
  conclude(
    context: ChangeContext & Services,
    input: InputOf<A>,
    intent: Intent,
    answer: Answer,
  ): ResultOf<A> | Promise<ResultOf<A>>;
  /** Reverts the intended state after the host or `beforeRetry` refused. */
  undo?(
    context: ChangeContext & Services,
    input: InputOf<A>,
    intent: Intent,
    refusal: Refusal,
  ): Promise<void>;
  /**
   * Records that it is unknown whether the host acted. A retry may still conclude or undo it. With a result,
   * the call is answered: the record that the result shows tells the rest. `mayBeginMs`: as in OutcomeUnknown.
   */
  unknown?(
    context: ChangeContext & Services,
    input: InputOf<A>,
    intent: Intent,
    mayBeginMs: number | undefined,
  ): Promise<{ result: ResultOf<A> } | UnknownOutcome>;
}

/** What the refusal of a call says whose outcome is not known. */
export interface UnknownOutcome {
  details?: RefusalDetails;
  /** How a caller without an idempotency key learns whether the call took effect. */
  advice?: string;
}

/**
 * Writes a handler that asks a host. The types are inferred in this order: `prepare` returns the intent,
 * `ask` receives it and returns the answer, `conclude` receives both. Write the properties in this order.
 */
export function onHost<A extends Action, Services, Intent, Answer>(
  handler: HostHandler<A, Services, Intent, Answer>,
): HostHandler<A, Services> {
  return handler;
}

export type Handler<A extends Action, Services> =
  | RecordHandler<A, Services>
  | HostHandler<A, Services>;

/** One handler for each action. A missing handler does not compile. */
export type HandlersFor<A extends Actions, Services> = {
  [Name in keyof A & string]: Handler<A[Name], Services>;
};
