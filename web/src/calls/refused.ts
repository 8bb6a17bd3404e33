// The two ways in which a request fails: the service refuses it, or no answer arrives.
import type { FieldError, RefusalBody } from "@hawser/client";

/** The service refused the request. Callers match on `code`, never on the message. */
export class Refused extends Error {
  readonly status: number;
  readonly refusal: RefusalBody;

  constructor(status: number, refusal: RefusalBody) {
    super(refusal.message);
    this.name = "Refused";
    this.status = status;
    this.refusal = refusal;
  }

  get code(): string {
    return this.refusal.code;
  }

  /** Why the service refused this field of the body; undefined if it did not refuse the field. */
  wrong(field: string): string | undefined {
    return this.refusal.fields?.find((each: FieldError) => each.field === field)?.message;
  }
}

/** No answer arrived. A change may or may not have taken effect. */
export class Unanswered extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Unanswered";
  }
}

export const isRefused = (error: unknown, code: string): boolean =>
  error instanceof Refused && error.code === code;
