// `hawser down`: stops the `hawser up` of a data directory, and waits until it has ended.
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { signalProcess } from "@hawser/daemon/signal-process.ts";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import { dataDirectory } from "../settings.ts";
import { describeAgents } from "./announce.ts";
import { isRunning, runningUp } from "./run-state.ts";
import { removeService } from "./service.ts";

/** Longer than the parts may take together. */
const patienceMs = 120_000;
const sayAfterMs = 1_000;

export function addDown(program: Command): void {
  program
    .command("down")
    .description("stop the hawser up of this machine")
    .option("--data <directory>", "the data directory (default ~/.hawser-server)")
    .option("--service", "also remove the service that hawser up --service made")
    .action(async (options: { data?: string; service?: boolean }) => {
      const data = resolve(dataDirectory(options.data));
      if (options.service) console.log(removeService());
      console.log(`${await stopUp(data)}${describeAgents(data)}`);
    });
}

/** Returns a sentence. Throws CommandFailed if it does not end in time. */
export async function stopUp(data: string, waitMs = patienceMs): Promise<string> {
  const up = runningUp(data);
  if (!up) return `Hawser does not run with the data in ${data}.`;
  signalProcess(up.pid, "SIGTERM");
  const startedAt = Date.now();
  let isSaid = false;
  while (isRunning(up)) {
    const waitedMs = Date.now() - startedAt;
    if (!isSaid && waitedMs > sayAfterMs) console.log("Waiting for the parts to end …");
    isSaid ||= waitedMs > sayAfterMs;
    if (waitedMs > waitMs) {
      throw new CommandFailed(
        `Hawser, process ${up.pid}, did not end within ${waitMs / 1000} s. To see why: ${commandFor(data, "logs up")}`,
      );
    }
    await pause(20);
  }
  return "Hawser has stopped.";
}
