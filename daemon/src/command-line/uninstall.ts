// `hawserd uninstall`: removes what the installer and the daemon made. Removes only what is known to be the
// daemon's own; everything else stays, because it may contain somebody's work.
import { spawnSync } from "node:child_process";
import { readdirSync, realpathSync, rmdirSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { openJournal } from "../journal/journal.ts";
import { silentLog } from "../log.ts";
import { createPolicy } from "../policy/policy.ts";
import { removeIfEmpty } from "../remove-if-empty.ts";
import { removeTreeNow } from "../remove-tree.ts";
import { stopService } from "../service/service.ts";
import { removeUnit, unitOf } from "../service/systemd.ts";
import { readSeparation, type Separation } from "../separation/separation.ts";
import { endProcesses } from "../separation/worker-process.ts";
import { reapOrphans } from "../sessions/orphans.ts";
import type { State } from "../state/state.ts";
import { CommandFailed, type CommandLine } from "./command.ts";
import { print } from "./print.ts";

/** Names in the state directory that are the daemon's own. */
const own =
  /^(?:bin|daemon|node|agents|clones|log|policy|credentials\.json|status\.json|process\.json|run\.lock|updates\.json|opencode-server\.json|quota-\w+\.json|opencode\.log|agent-shell\.sh|opencode-shell|scratch|attachments|baselines|trusted|homes|sealing-key\.json|separation\.json|tmp|host-key\.json|places\.sqlite(?:-wal|-shm)?|.*\.(?:next|part))$/;
const journal = /^journal-\w+\.sqlite$/;
/** Directories of sessions: removed only if they are empty. */
const ofSessions = ["worktrees", "checkouts", "parked"];
/** Files that belong to a journal, and are removed or kept with it. */
const besideJournal = /^(journal-\w+)\.(?:sqlite-(?:wal|shm|journal)|blobs)$/;

export const uninstall: CommandLine = {
  usage: "uninstall [--yes]",
  summary: "stops the daemon, and removes it with its unit and its files",
  needsState: true,
  options: { yes: { type: "boolean" } },
  async run({ state, options: { yes } }) {
    const credentials = state.readCredentials();
    if (!yes) await confirm(state);
    const { roots } = createPolicy(state.policyPath).read();
    // A daemon that is stopped announces its departure, so the host is shown as stopped, not as lost.
    if (await stopService(state)) print("Stopped the daemon.");
    // Agents outlive their daemon; they must end here, because no daemon will come back.
    await reapOrphans({
      stateDirectory: state.directory,
      liveStarts: () => [],
      placeOf: () => undefined,
      log: silentLog,
    });
    if (unitOf(state) === "ours") {
      removeUnit();
      print("Removed the systemd unit.");
    }
    const separation = readSeparation(state);
    if (separation) await uninstallWorkers(separation, state.directory);
    removeFiles(state);
    const made = join(homedir(), "hawser");
    if (roots.includes(made)) removeIfEmpty(made);
    print("Your own directories were not changed.");
    if (credentials) {
      print(
        `${credentials.serverUrl} still lists this host, as ${credentials.instanceId}; delete_instance removes it there.`,
      );
    }
  },
};

/** Each user removes what its worker made: homes and logins, and never somebody's work. */
async function uninstallWorkers({ own, people }: Separation, directory: string): Promise<void> {
  const program = [process.execPath, ...process.execArgv, realpathSync(process.argv[1]!)];
  for (const { user, state } of [own, ...people]) {
    const runAs = (...command: string[]) =>
      spawnSync("sudo", ["-n", "-H", "-u", user, "--", ...command], { cwd: "/", encoding: "utf8" });
    // Ends background processes of agents, too. The host's own user may be a person who is logged in.
    if (user !== own.user) await endProcesses(user).catch((error: Error) => print(error.message));
    // A person who never linked an account has no files.
    if (runAs("test", "-d", state).status !== 0) continue;
    const { status, stderr } = runAs(...program, "uninstall", "--yes", "--state", state);
    if (status !== 0) print(`The files of ${user} in ${state} were not removed. ${stderr.trim()}`);
  }
  const name = userInfo().username;
  print("As root, remove what root has made, when nobody needs the work of these users any more:");
  print(`  rm /etc/sudoers.d/${name}`);
  for (const user of [...people.map((each) => each.user), name]) print(`  userdel ${user}`);
  print(`  rm -r ${directory} ${directory}-users`);
}

async function confirm(state: State): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandFailed(
      `This stops the daemon and removes it from ${state.directory}. To confirm, run: hawserd uninstall --yes`,
    );
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(
    `Stop the daemon and remove it from ${state.directory}? [y/N] `,
  );
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailed("Nothing was changed.");
}

function removeFiles({ directory }: State): void {
  const undelivered = new Set(
    readdirSync(directory)
      .filter((name) => journal.test(name))
      .filter((name) => hasUndelivered(join(directory, name))),
  );
  for (const name of readdirSync(directory)) {
    const beside = besideJournal.exec(name);
    const file = beside ? `${beside[1]}.sqlite` : name;
    const isOwn = own.test(name) || (journal.test(file) && !undelivered.has(file));
    if (isOwn) removeTreeNow(join(directory, name));
  }
  for (const name of ofSessions) removeIfEmpty(join(directory, name));
  const kept = readdirSync(directory);
  if (kept.length > 0) {
    print(`Kept in ${directory}, because it may hold work: ${kept.join(", ")}`);
    return;
  }
  try {
    rmdirSync(directory);
    print(`Removed ${directory}.`);
  } catch {
    // Root has made the directory of a separated host, so only root can remove it.
    print(`Removed everything in ${directory}. The empty directory stays.`);
  }
}

/** Whether a journal contains entries that the control plane lacks. A journal that cannot be read may. */
function hasUndelivered(path: string): boolean {
  try {
    const opened = openJournal(path);
    try {
      return opened.log.unappliedSessions().length > 0;
    } finally {
      opened.close();
    }
  } catch {
    return true;
  }
}
