// Reads the arguments of a command. A wrong one ends the command with a sentence, not with a stack trace.
import { parseArgs, type ParseArgsConfig } from "node:util";

export function readArguments<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof TypeError) || !isAboutArguments(error)) throw error;
    console.error(error.message);
    return process.exit(2);
  }
}

const isAboutArguments = (error: NodeJS.ErrnoException) =>
  error.code?.startsWith("ERR_PARSE_ARGS_") === true;
