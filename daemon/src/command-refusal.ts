// How the host says no to a command. Apart from the commands, so that whatever they work with can say it.

/**
 * The host will not do it, for a reason that whoever asked can act on. A code that the command does
 * not list reaches callers as `host_refused`, with the same words.
 */
export class CommandRefusal extends Error {
  readonly code: string;
  /** Which of the caller's fields is to blame, for `invalid_input`. */
  readonly field: string | undefined;

  constructor(code: string, message: string, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}
