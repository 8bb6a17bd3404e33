// What a command of the command line is.
import type { State } from "../state/state.ts";

/** The options of the call, each with its value. */
export interface Given {
  directory: string;
  /** Opened when it is read. Throws StateError if the directory belongs to another user. */
  readonly state: State;
  /** The words after the command's name, such as `add` and a directory. */
  words: readonly string[];
  options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

export interface CommandLine {
  /** As in the usage, without the options that every command has. */
  usage: string;
  /** What it does, for the usage. */
  summary: string;
  /** Whether it is refused if there is no state directory, instead of making one. */
  needsState?: boolean;
  options?: Record<string, { type: "string" | "boolean"; short?: string; multiple?: boolean }>;
  /** How many words may follow the name. */
  words?: number;
  /** Returns the exit code; undefined means 0. */
  run: (given: Given) => Promise<number | void> | number | void;
}

/** The arguments are wrong. */
export class UsageError extends Error {}

/** Something that the user of the command can solve. */
export class CommandFailed extends Error {}
