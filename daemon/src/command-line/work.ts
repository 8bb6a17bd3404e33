// `hawserd work`: a worker of a separated host. Only the front of the host starts it, as another Unix user.
import { openDaemonLog } from "../log-file.ts";
import { daemonVersion } from "../release.ts";
import type { CommandLine } from "./command.ts";

export const work: CommandLine = {
  usage: "work",
  summary: "the work of one Unix user; the daemon of a separated host starts it",
  async run({ state }) {
    const [{ serveWork }, { openAccounts, openDrivers }] = await Promise.all([
      import("../separation/serve-work.ts"),
      import("../agents.ts"),
    ]);
    // Its output is the pipe to the front.
    const log = openDaemonLog(state, true);
    log.info("the worker runs", { pid: process.pid, version: daemonVersion });
    await serveWork({ state, log, drivers: openDrivers, accounts: openAccounts });
  },
};
