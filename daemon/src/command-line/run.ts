// `hawserd run`: the daemon itself, until it is stopped or told to forget. This is what the service
// manager starts.
import { openCodeHosting } from "../code-hosting/code-hosting.ts";
import { openDirectories } from "../directories/directories.ts";
import { openDirectoriesLook } from "../directories/look.ts";
import { openGit } from "../git/git.ts";
import { startHost, type HostStatus } from "../host.ts";
import { logPathOf, openLogFile } from "../log-file.ts";
import { describe, openLog } from "../log.ts";
import { openPolicy } from "../policy/policy.ts";
import { daemonVersion } from "../release.ts";
import { noteRunning } from "../state/running.ts";
import type { CommandLine } from "./command.ts";

export const run: CommandLine = {
  usage: "run [--quiet]",
  options: { quiet: { type: "boolean" } },
  async run({ state, options: { quiet } }) {
    const toFile = openLogFile(logPathOf(state));
    const log = openLog((line) => {
      toFile(line);
      if (!quiet) process.stderr.write(line);
    });
    const over = Promise.withResolvers<void>();
    // A full disk must not stop the daemon.
    const keep = (status: HostStatus) => {
      try {
        state.writeStatus(status);
      } catch (error) {
        log.warn("the status could not be written", { error: describe(error) });
      }
    };
    const policy = openPolicy(state.policyPath).read;
    const host = startHost({
      state,
      log,
      looks: [openDirectoriesLook(policy, openDirectories(policy), openGit())],
      codeHosting: openCodeHosting(),
      onForget: over.resolve,
      onStatus: keep,
    });
    const { instanceId } = host.status();
    keep(host.status());
    noteRunning(state);
    log.info("the daemon runs", { instanceId, pid: process.pid, version: daemonVersion });
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => {
        log.info("the daemon stops", { signal });
        host.stop().then(over.resolve, over.reject);
      });
    }
    await over.promise;
  },
};
