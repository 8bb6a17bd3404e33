// What a product writes for each action. The dispatcher decides which transactions a handler runs
// in, so a handler reads as the happy path and throws refusals by name.
import type { Action, Actions, InputOf, ResultOf } from "@hawser/contract";
import type { TenantTransaction } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import type { Caller } from "./caller.ts";

interface CallContext {
  caller: Caller;
  callId: string;
}

/** A read: every statement is a transaction of its own. */
export interface ReadContext extends CallContext {
  sql: TenantSql;
}

/** A change: one transaction, which also holds the idempotency row and the audit entry. */
export interface ChangeContext extends CallContext {
  sql: TenantTransaction;
  /** The same for every retry with the same idempotency key. */
  commandId: string;
}

/** Outside every transaction, while a host is asked. */
export interface AskContext extends CallContext {
  commandId: string;
  /** A node that is gone may have asked before, under the same id. */
  resumed: boolean;
  /** Aborted when the caller's deadline has passed or another node has taken the call over. */
  signal: AbortSignal;
}

/** Thrown by `ask` when nobody knows whether the host acted. A retry asks again under the same id. */
export class OutcomeUnknown extends Error {}

type ContextOf<A extends Action> = A["effect"] extends "reads" ? ReadContext : ChangeContext;

export type RecordHandler<A extends Action, Services> = (
  context: ContextOf<A> & Services,
  input: InputOf<A>,
) => Promise<ResultOf<A>>;

/**
 * A change that a host carries out. No transaction is open while the host is asked: `prepare`
 * commits the intended state, `conclude` the outcome. A node that dies in between is followed by
 * the caller's retry, which asks again under the same command id; so `ask` must be safe to repeat
 * under one id, which is what the host's journal is for. The intent is stored as JSON for that retry,
 * which may reach a newer version of this service: fields may be added to it, not renamed.
 */
export interface HostHandler<A extends Action, Services, Intent = unknown, Answer = unknown> {
  prepare(context: ChangeContext & Services, input: InputOf<A>): Promise<Intent>;
  ask(context: AskContext & Services, input: InputOf<A>, intent: Intent): Promise<Answer>;
  conclude(
    context: ChangeContext & Services,
    input: InputOf<A>,
    intent: Intent,
    answer: Answer,
  ): ResultOf<A> | Promise<ResultOf<A>>;
  /** Takes the intended state back after the host refused. */
  undo?(context: ChangeContext & Services, input: InputOf<A>, intent: Intent): Promise<void>;
  /** Says on record that nobody knows whether the host acted. A retry may still conclude or undo it. */
  unknown?(context: ChangeContext & Services, input: InputOf<A>, intent: Intent): Promise<void>;
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
  RecordHandler<A, Services> | HostHandler<A, Services>;

/** One handler for each action but those listed as not built yet: a missing one does not compile. */
export type HandlersFor<A extends Actions, Services, NotYet extends string = never> = {
  [Name in Exclude<keyof A & string, NotYet>]: Handler<A[Name], Services>;
};
