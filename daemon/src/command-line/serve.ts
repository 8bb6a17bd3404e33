// `hawserd serve`: the daemon itself. Only its supervisor starts it.
import { openDaemonLog } from "../log-file.ts";
import { daemonVersion } from "../release.ts";
import type { CommandLine } from "./command.ts";

export const serve: CommandLine = {
  usage: "serve",
  summary: "the daemon itself; hawserd run starts it",
  options: { quiet: { type: "boolean" }, standby: { type: "boolean" } },
  async run({ state, options }) {
    // Two thirds of the daemon's modules. The other commands, and the supervisor, do not load them.
    const { createChannel, serve: serveHost } = await import("../serve.ts");
    const standby = options["standby"] === true;
    const log = openDaemonLog(state, options["quiet"] === true);
    const channel = createChannel();
    const stopped = new AbortController();
    const stop = (why: string) => {
      if (!stopped.signal.aborted) log.info("the daemon stops", { why });
      stopped.abort();
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));
    process.on("disconnect", () => stop("its supervisor is gone"));
    const { pid, ppid: supervisorPid } = process;
    log.info("the daemon runs", { pid, supervisorPid, version: daemonVersion, standby });
    await serveHost({ state, channel, log, standby, signal: stopped.signal });
  },
};
