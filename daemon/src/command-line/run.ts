// `hawserd run`: the supervisor and, as its child, the daemon, until it is stopped or the host is forgotten.
// The service manager starts this.
import { realpathSync } from "node:fs";
import { openDaemonLog } from "../log-file.ts";
import { daemonVersion } from "../release.ts";
import { NotPaired } from "../state/state.ts";
import { takePlace } from "../supervisor/only-one.ts";
import { supervise } from "../supervisor/supervise.ts";
import { chooseProgram } from "../supervisor/versions.ts";
import { UsageError, type CommandLine } from "./command.ts";

const takeoverSeconds = 30;

export const run: CommandLine = {
  usage: "run [--quiet] [--takeover <seconds>]",
  summary:
    "runs the daemon under its supervisor; a new version has --takeover seconds to start, 30 by default",
  options: { quiet: { type: "boolean" }, takeover: { type: "string" } },
  async run({ state, options: { quiet, takeover = `${takeoverSeconds}` } }) {
    const takeoverMs = Number(takeover) * 1000;
    if (!(takeoverMs > 0)) throw new UsageError("--takeover must be a number of seconds above 0.");
    if (!state.readCredentials()) throw new NotPaired();
    const log = openDaemonLog(state, quiet === true);
    // Not through the pointer, which may name another version when it is used.
    const script = [...process.execArgv, realpathSync(process.argv[1]!)];
    const own = { version: daemonVersion, node: process.execPath, script };
    await takePlace(state, chooseProgram(state.directory, own).version);
    const args = ["--state", state.directory, ...(quiet ? ["--quiet"] : [])];
    const supervisor = supervise({ state, own, args, log, takeoverMs });
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        log.info("the supervisor stops", { signal });
        supervisor.stop();
      });
    }
    await supervisor.ended;
  },
};
