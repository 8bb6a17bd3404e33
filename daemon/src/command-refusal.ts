// A refusal of a command. It is apart from the commands, so that the parts that commands use can throw it.

/**
 * The host refuses a command, for a reason on which the caller can act. A code that the command does not
 * list reaches callers as `host_refused`, with the same message.
 */
export class CommandRefusal extends Error {
  readonly code: string;
  /** The caller's field that is invalid, for `invalid_input`. */
  readonly field: string | undefined;

  constructor(code: string, message: string, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}
