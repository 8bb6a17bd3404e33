/** The user of the command can solve this: the message says what happened and what to do next. */
export class CommandFailed extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
