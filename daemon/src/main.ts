#!/usr/bin/env node
// The daemon's command line. `pair` ties this host to a control plane, once; `run` keeps it linked
// until it is stopped; `status` says how it stands. The daemon listens on nothing.
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openCodeHosting } from "./code-hosting/code-hosting.ts";
import { openDirectories } from "./directories/directories.ts";
import { openDirectoriesLook } from "./directories/look.ts";
import { openGit } from "./git/git.ts";
import { startHost } from "./host.ts";
import { JournalInUse } from "./journal/journal.ts";
import { DoorError, pairHost } from "./link/doors.ts";
import { openLog } from "./log.ts";
import { openPolicy } from "./policy/policy.ts";
import { StateError, openState, type State } from "./state/state.ts";

const usage = `Usage:
  hawserd pair --server <address> --token <pairing token> [--state <directory>]
  hawserd run [--state <directory>]
  hawserd status [--state <directory>]

The state directory is ~/.hawser unless another is given.
`;

/** The command was called in a way that makes no sense. */
class UsageError extends Error {}

async function main(args: string[]): Promise<void> {
  const { command, state, server, token } = readArguments(args);
  switch (command) {
    case "pair": {
      if (!server || !token) throw new UsageError("pair needs --server and --token.");
      const directory = openState(state);
      if (isRunning(directory)) {
        throw new StateError("The daemon is running. Stop it, then pair this host again.");
      }
      const { instanceId } = await pairHost(directory, server, token);
      console.log(`This host is paired as ${instanceId}. Now run: hawserd run`);
      return;
    }
    case "run":
      return run(openState(state));
    case "status":
      return printStatus(openState(state));
    default:
      throw new UsageError(command ? `There is no command "${command}".` : "A command is missing.");
  }
}

function readArguments(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        server: { type: "string" },
        token: { type: "string" },
        state: { type: "string", default: join(homedir(), ".hawser") },
      },
    });
    if (positionals.length > 1) throw new Error(`"${positionals[1]}" makes no sense here.`);
    return { command: positionals[0], ...values };
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}

async function run(state: State): Promise<void> {
  const log = openLog((line) => process.stderr.write(line));
  const over = Promise.withResolvers<void>();
  const policy = openPolicy(state.policyPath).read;
  const host = startHost({
    state,
    log,
    looks: [openDirectoriesLook(policy, openDirectories(policy), openGit())],
    onForget: over.resolve,
    codeHosting: openCodeHosting(),
    onStatus: (status) => state.writeStatus({ ...status, pid: process.pid }),
  });
  log.info("the daemon runs", { instanceId: host.status().instanceId, pid: process.pid });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      log.info("the daemon stops", { signal });
      host.stop().then(over.resolve, over.reject);
    });
  }
  await over.promise;
}

function printStatus(state: State): void {
  const credentials = state.readCredentials();
  if (!credentials) {
    console.log("This host is not paired.");
    return;
  }
  const { serverUrl, instanceId } = credentials;
  console.log(`Paired with ${serverUrl} as ${instanceId}.`);
  const last = state.readStatus();
  if (!last || !isRunning(state)) {
    console.log("The daemon is not running.");
    return;
  }
  const reason = typeof last["reason"] === "string" ? `: ${last["reason"]}` : "";
  console.log(
    `The daemon runs as process ${Number(last["pid"])}; its link is ${String(last["state"])} since ${String(last["since"])}${reason}`,
  );
}

function isRunning(state: State): boolean {
  const pid = Number(state.readStatus()?.["pid"]);
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
  const isExpected =
    error instanceof StateError || error instanceof DoorError || error instanceof JournalInUse;
  console.error(isExpected ? error.message : error);
  process.exit(1);
}
