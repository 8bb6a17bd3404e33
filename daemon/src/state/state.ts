// The daemon's directory on disk: the host's credentials, its journals, and the last status. Only its owner
// can read it. The host's seed is made here and never leaves.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { machineId } from "./machine-id.ts";
import { replaceFile } from "./replace-file.ts";

export interface Credentials {
  /** The origin of the control plane, such as https://hawser.example. */
  serverUrl: string;
  /** The address that the service has announced, until it admits this host (decision 0078). */
  nextServerUrl?: string | undefined;
  /** The address before `serverUrl`, until a token was renewed at the present one. */
  formerServerUrl?: string | undefined;
  instanceId: string;
  /** The host's own key (SU…). */
  seed: string;
  /** The edge and the fabric admit the host by it; valid for two hours. */
  token: string;
  /** Commands must be signed by this key, which the host got at pairing or from `pin_command_keys`. */
  commandKey: string;
  /** The other accepted key, while the control plane replaces the first. */
  secondCommandKey?: string | undefined;
}

/** Says which Unix users a separated host has; missing if all agents run as the daemon's user. */
export const separationPath = (directory: string) => join(directory, "separation.json");

export interface State {
  directory: string;
  machineId: string;
  /** undefined before pairing, and after the host was removed. */
  readCredentials(): Credentials | undefined;
  /** Durable when it returns. */
  saveCredentials(credentials: Credentials): void;
  forgetCredentials(): void;
  /** What the host's owner allows; the owner edits it. */
  policyPath: string;
  /** Lists the clones that are being made. */
  clonesDirectory: string;
  /** Installed agents. */
  agentsDirectory: string;
  /** Worktrees of sessions, and parked worktrees of ended sessions. */
  worktreesDirectory: string;
  /** Clones of sessions. */
  checkoutsDirectory: string;
  parkedDirectory: string;
  /** Copies of directories without a commit, for diffs. */
  baselinesDirectory: string;
  /** Copies of configuration that the organization trusts. */
  trustedDirectory: string;
  /** The agents' homes of people who have linked an account. */
  homesDirectory: string;
  /** The key that opens the secrets that people link. */
  sealingKeyPath: string;
  /** Temporary files of snapshots and diffs. */
  scratchDirectory: string;
  /** One journal per instance: entries of an old pairing are never sent on a new one. */
  journalPath(instanceId: string): string;
  writeStatus(status: object): void;
  readStatus(): Record<string, unknown> | undefined;
}

export function openState(directory: string): State {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StateError(
      `The state directory ${directory} cannot be made: ${(cause as Error).message}. Choose another with --state.`,
      { cause },
    );
  }
  const { uid } = statSync(directory);
  if (process.getuid && uid !== process.getuid()) {
    throw new StateError(
      `The directory ${directory} belongs to another user. Run the command as that user (ls -ld shows its name; sudo -u NAME …), or choose a directory of your own.`,
    );
  }
  // Workers of a separated host pass through it to the programs. Other files are closed by their own modes.
  chmodSync(directory, existsSync(separationPath(directory)) ? 0o711 : 0o700);
  const credentials = join(directory, "credentials.json");
  const status = join(directory, "status.json");
  return {
    directory,
    machineId: machineId(directory),
    policyPath: join(directory, "policy"),
    clonesDirectory: join(directory, "clones"),
    agentsDirectory: join(directory, "agents"),
    worktreesDirectory: join(directory, "worktrees"),
    checkoutsDirectory: join(directory, "checkouts"),
    parkedDirectory: join(directory, "parked"),
    baselinesDirectory: join(directory, "baselines"),
    trustedDirectory: join(directory, "trusted"),
    homesDirectory: join(directory, "homes"),
    sealingKeyPath: join(directory, "sealing-key.json"),
    scratchDirectory: join(directory, "scratch"),
    readCredentials() {
      const found = readJson(credentials);
      if (found === undefined) return undefined;
      const names = ["serverUrl", "instanceId", "seed", "token", "commandKey"] as const;
      if (names.some((name) => typeof found[name] !== "string")) {
        throw new StateError(`The file ${credentials} is damaged. Pair this host again.`);
      }
      return found as unknown as Credentials;
    },
    saveCredentials: (value) => replaceFile(credentials, value),
    forgetCredentials: () => rmSync(credentials, { force: true }),
    journalPath(instanceId) {
      if (!/^\w+$/.test(instanceId)) throw new StateError(`"${instanceId}" is no instance's id.`);
      return join(directory, `journal-${instanceId}.sqlite`);
    },
    writeStatus: (value) => replaceFile(status, value),
    readStatus: () => readJson(status),
  };
}

/** A problem with the directory that whoever runs the daemon must solve. */
export class StateError extends Error {}

/** The host is not paired, or was forgotten: the service manager need not try again. */
export class NotPaired extends StateError {
  constructor() {
    super("This host is not paired. Run: hawserd pair --server <address> --token <pairing token>");
  }
}

export function readJson(path: string): Record<string, unknown> | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new StateError(`The file ${path} is damaged. Pair this host again.`, { cause });
  }
}
