// `hawserd setup`: what the installer runs once the programs are in place. Writes the policy, pairs the host,
// starts the service and waits until the host is online. A second run changes only what it is asked for.
// With --no-service it ends after the pairing, for a program that runs the daemon itself.
import { existsSync, mkdirSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isServerUrl, nkeyFromSeed } from "@hawser/host-protocol";
import { DoorError, pairHost, renewToken } from "../link/doors.ts";
import { createServerClock } from "../link/server-clock.ts";
import { describe } from "../log.ts";
import { addRoot } from "../policy/edit-roots.ts";
import { createPolicy } from "../policy/policy.ts";
import { readSeparation } from "../separation/separation.ts";
import { programOf } from "../service/program.ts";
import { startService, stopService } from "../service/service.ts";
import type { Credentials, State } from "../state/state.ts";
import { CommandFailed, UsageError, type CommandLine } from "./command.ts";
import { lookAtRoots } from "./look-at-roots.ts";
import { print } from "./print.ts";
import { describeRoot, requireParsed } from "./roots.ts";
import { lookAtLink } from "./status.ts";

const onlinePatienceMs = 30_000;

export const setup: CommandLine = {
  summary: "pairs the host and starts the daemon; the installer runs this",
  usage: "setup --server <address> [--token <pairing token>] [--root <directory> …] [--no-service]",
  options: {
    "no-service": { type: "boolean" },
    server: { type: "string" },
    token: { type: "string" },
    root: { type: "string", multiple: true },
  },
  async run({ state, options }) {
    const { server, token = process.env["HAWSER_TOKEN"], root = [] } = options;
    if (!server) throw new UsageError("setup needs --server.");
    if (!existsSync(programOf(state))) {
      throw new CommandFailed(
        `Nothing is installed in ${state.directory}. Run the install command; it calls setup itself.`,
      );
    }
    writePolicy(state, root as string[]);
    if (await stopService(state)) print("Stopped the daemon that was running.");
    const problem = await pairIfAsked(state, String(server), token ? String(token) : undefined);
    if (options["no-service"]) {
      if (problem) throw problem;
      return print("The daemon is not started: run it with hawserd run.");
    }
    if (state.readCredentials()) {
      print("Starting the daemon …");
      startService(state).forEach((line) => print(line));
    }
    if (problem) throw problem;
    await untilOnline(state);
    print("Roots, the directories the service may work in:");
    const { roots } = createPolicy(state.policyPath).read();
    for (const seen of lookAtRoots(state, roots)) print(`  ${describeRoot(seen)}`);
    print(`The policy file ${state.policyPath} says what the service may do. You can edit it.`);
    // A separated host is installed by root, and belongs to a user that no person logs in as.
    const asUser = readSeparation(state) ? `sudo -u ${userInfo().username} ` : "";
    print(
      `To check the host: ${asUser}${programOf(state)} status. Other commands: doctor, roots, logs, uninstall.`,
    );
  },
};

/** Writes the file, or adds the requested roots to it. */
function writePolicy(state: State, asked: readonly string[]): void {
  const roots = asked.map((root) => resolve(root));
  const isNew = !existsSync(state.policyPath);
  if (isNew && roots.length === 0) {
    const own = join(homedir(), "hawser");
    if (!existsSync(own)) {
      mkdirSync(own);
      print(`Made ${own}, for the projects the service may work in.`);
    }
    roots.push(own);
  }
  requireParsed(state.policyPath);
  for (const { root, problem } of lookAtRoots(state, roots)) {
    if (problem) throw new CommandFailed(`${root} ${problem}. Name another directory with --root.`);
    addRoot(state.policyPath, root);
  }
  if (isNew) print(`Wrote ${state.policyPath}.`);
}

/** Returns why the host could not be paired; an old pairing stays. */
async function pairIfAsked(
  state: State,
  server: string,
  token: string | undefined,
): Promise<Error | undefined> {
  const former = state.readCredentials();
  if (!token) {
    if (former) return changeAddress(state, former, server);
    return new CommandFailed(
      "This host is not paired, and the command has no token. Run the whole install command, as create_instance or regenerate_pairing_token returned it.",
    );
  }
  print(`Pairing with ${server} …`);
  try {
    const { instanceId } = await pairHost(state, server, token);
    print(`This host is paired as ${instanceId}.`);
    return undefined;
  } catch (error) {
    if (!(error instanceof DoorError)) throw error;
    if (former?.serverUrl === URL.parse(server)?.origin) {
      // Most likely the same command was run twice.
      print(
        `The token was not accepted: ${describe(error)} The host stays paired as ${former?.instanceId}.`,
      );
      return undefined;
    }
    return new CommandFailed(
      `${describe(error)} This host is not paired. When the cause is solved, run the whole install command again.`,
    );
  }
}

/** The owner of the host names the address, so the service need not prove it. The old one is kept until it works. */
async function changeAddress(
  state: State,
  former: Credentials,
  server: string,
): Promise<Error | undefined> {
  const { serverUrl: formerServerUrl, seed } = former;
  const serverUrl = URL.parse(server)?.origin ?? server;
  if (serverUrl === formerServerUrl) return undefined;
  try {
    if (!isServerUrl(serverUrl)) throw new DoorError(`"${server}" is not an https:// address.`);
    const asked = { key: nkeyFromSeed(seed), clock: createServerClock(), isRemoved: () => false };
    const signal = AbortSignal.timeout(onlinePatienceMs);
    const { token } = await renewToken({ ...asked, serverUrl }, signal);
    const changes = { serverUrl, formerServerUrl, nextServerUrl: undefined };
    state.saveCredentials({ ...former, ...changes, token });
    print(`This host now uses ${serverUrl} instead of ${formerServerUrl}.`);
    return undefined;
  } catch (error) {
    return new CommandFailed(
      `${serverUrl} does not accept this host: ${describe(error)} The host stays with ${formerServerUrl}. If it is another service, run the whole install command, with a token.`,
      { cause: error },
    );
  }
}

async function untilOnline(state: State): Promise<void> {
  const deadline = Date.now() + onlinePatienceMs;
  let said = Date.now();
  for (;;) {
    const { isOnline, sentence } = lookAtLink(state);
    if (isOnline) return print(`Online. ${sentence}`);
    if (Date.now() > said + 2_000) {
      said = Date.now();
      print(`Waiting. ${sentence}`);
    }
    if (Date.now() > deadline) {
      throw new CommandFailed(
        `${sentence} The daemon keeps trying. To see what is wrong: ${programOf(state)} doctor`,
      );
    }
    await pause(50);
  }
}
