#!/usr/bin/env node
// The daemon's command line: reads the arguments and calls one of the commands in command-line/. The
// daemon listens on nothing, so these commands share only the state directory with it.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { inspect, parseArgs } from "node:util";
import { CommandFailed, UsageError, type CommandLine } from "./command-line/command.ts";
import { doctor } from "./command-line/doctor.ts";
import { logs } from "./command-line/logs.ts";
import { pair } from "./command-line/pair.ts";
import { place } from "./command-line/place.ts";
import { printError } from "./command-line/print.ts";
import { roots } from "./command-line/roots.ts";
import { run } from "./command-line/run.ts";
import { separate } from "./command-line/separate.ts";
import { serve } from "./command-line/serve.ts";
import { setup } from "./command-line/setup.ts";
import { status } from "./command-line/status.ts";
import { uninstall } from "./command-line/uninstall.ts";
import { work } from "./command-line/work.ts";
import { JournalInUse, JournalTooNew } from "./journal/journal.ts";
import { DoorError } from "./link/doors.ts";
import { useProxies } from "./proxies.ts";
import { daemonVersion } from "./release.ts";
import { NotPaired, StateError, openState } from "./state/state.ts";
import { AlreadyRuns } from "./supervisor/only-one.ts";

const commands: Record<string, CommandLine> = {
  status,
  doctor,
  roots,
  logs,
  pair,
  place,
  run,
  separate,
  serve,
  setup,
  uninstall,
  work,
};

const usage = `Usage:
${Object.values(commands)
  .map(({ usage: form, summary }) => `  hawserd ${form}\n      ${summary}`)
  .join("\n")}
  hawserd --version

Every command accepts --state <directory>. The default is HAWSER_HOME, or else ~/.hawser.
pair and setup also read the token from HAWSER_TOKEN, where no other user can see it.
`;

async function main([name = "", ...args]: string[]): Promise<number | void> {
  if (name === "--version") return console.log(daemonVersion);
  if (name === "--help" || name === "help") return console.log(usage);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    printError(name === "" ? "A command is missing." : `There is no command "${name}".`);
    console.error(`\n${usage}`);
    return 2;
  }
  const { words, options } = readArguments(command, args);
  useProxies();
  const { state = process.env["HAWSER_HOME"] ?? join(homedir(), ".hawser") } = options;
  const directory = resolve(state);
  if (command.needsState && !existsSync(directory)) {
    throw new CommandFailed(
      `There is no state directory ${directory}. Run the install command on this host, or name the directory with --state.`,
    );
  }
  return command.run({
    directory,
    words,
    options,
    get state() {
      return openState(directory);
    },
  });
}

function readArguments(command: CommandLine, args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { ...command.options, state: { type: "string" } },
    });
    const surplus = positionals[command.words ?? 0];
    if (surplus !== undefined) throw new Error(`"${surplus}" is one argument too many`);
    return { words: positionals, options: values };
  } catch (cause) {
    // Node's own advice is about arguments that begin with "-", which no command has.
    const [sentence] = (cause as Error).message.split(". To specify");
    throw new UsageError(sentence!.replace(/\.?$/, "."), { cause });
  }
}

const expected = [CommandFailed, StateError, DoorError, JournalInUse, JournalTooNew, AlreadyRuns];

try {
  process.exit((await main(process.argv.slice(2))) ?? 0);
} catch (error) {
  if (error instanceof UsageError) {
    const form = commands[process.argv[2]!]?.usage;
    printError(`${error.message} Usage: hawserd ${form}`);
    printError("For all commands, run: hawserd --help");
    process.exit(2);
  }
  const isExpected = expected.some((kind) => error instanceof kind);
  if (isExpected) printError((error as Error).message);
  else
    inspect(error)
      .split("\n")
      .forEach((line) => printError(line));
  process.exit(error instanceof NotPaired ? 3 : error instanceof AlreadyRuns ? 4 : 1);
}
