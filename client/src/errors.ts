// The two ways in which a call fails: the service refuses it, or no answer arrives.
import type { RefusalCode } from "./actions.ts";

/** Advice about the same call. `changed`: it passes only after the state that the message names has changed. */
export type RetryAdvice = "never" | "later" | "changed";

export interface FieldError {
  field: string;
  message: string;
}

/** The body of a refusal, as the service sends it. */
export interface RefusalBody {
  code: RefusalCode;
  /** What happened, and what to do next. It may change; match on `code`. */
  message: string;
  retry: RetryAdvice;
  retryAfterMs?: number;
  /** The wrong fields of the body. */
  fields?: FieldError[];
  /** The action that shows what happened, or that mends it. */
  nextAction?: string;
  /** The session that the call made, if there is one nevertheless. */
  sessionId?: string;
  /** Finds the cause of a fault in the service's logs. */
  incidentId?: string;
  /** Identifies the call in the service's logs. */
  callId?: string;
}

/** The service refused the call. */
export class Refused extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  /** The whole refusal. */
  readonly refusal: RefusalBody;
  /** The action, or the path of a stream. */
  readonly action: string;

  constructor(action: string, status: number, refusal: RefusalBody) {
    super(refusal.message);
    this.name = "Refused";
    this.action = action;
    this.status = status;
    this.code = refusal.code;
    this.refusal = refusal;
  }
}

/** No answer arrived. A change may or may not have taken effect. */
export class Unanswered extends Error {
  /** A call with the same key repeats the change or its answer; the change takes effect at most once. */
  idempotencyKey: string | undefined;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Unanswered";
  }
}
