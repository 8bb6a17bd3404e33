// `hawserd pair`: pairs this host with a control plane.
import { pairHost } from "../link/doors.ts";
import { runningDaemon } from "../state/running.ts";
import { StateError } from "../state/state.ts";
import { UsageError, type CommandLine } from "./command.ts";
import { print } from "./print.ts";

export const pair: CommandLine = {
  summary: "pairs this host with a control plane",
  usage: "pair --server <address> --token <pairing token>",
  options: { server: { type: "string" }, token: { type: "string" } },
  async run({ state, options: { server, token = process.env["HAWSER_TOKEN"] } }) {
    if (!server || !token) throw new UsageError("pair needs --server and --token.");
    if (runningDaemon(state) !== undefined) {
      throw new StateError("The daemon is running. Stop it, then pair this host again.");
    }
    const { instanceId } = await pairHost(state, String(server), String(token));
    print(`This host is paired as ${instanceId}. Now run: hawserd run`);
  },
};
