// What a command of the command line is.
import type { State } from "../state/state.ts";

/** The options that were given, each as the words after it. */
export interface Given {
  state: State;
  /** What stands after the command's name, such as `add` and a directory. */
  words: readonly string[];
  options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

export interface CommandLine {
  /** As in the usage, without the options that every command takes. */
  usage: string;
  options?: Record<string, { type: "string" | "boolean"; short?: string; multiple?: boolean }>;
  /** How many words may follow the name. */
  words?: number;
  /** Answers the exit code; 0 when it says nothing. */
  run: (given: Given) => Promise<number | void> | number | void;
}

/** The command was called in a way that makes no sense. */
export class UsageError extends Error {}

/** Something that whoever typed the command can put right. */
export class CommandFailed extends Error {}
