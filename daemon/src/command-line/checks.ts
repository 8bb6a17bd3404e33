// The checks of `hawserd doctor`: one function for each subject, which reports what it found and, for a
// problem, the cure.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { fabricPath } from "@hawser/host-protocol";
import { warningsOf } from "../directories/host-facts.ts";
import { childEnvironment } from "../environment.ts";
import { createGit, oldestSafe } from "../git/git.ts";
import { createPolicy } from "../policy/policy.ts";
import { daemonVersion, trustedKeys } from "../release.ts";
import { readSeparation } from "../separation/separation.ts";
import { programOf } from "../service/program.ts";
import { hasLinger, hasUserManager, isEnabled, unitOf } from "../service/systemd.ts";
import { runningDaemon } from "../state/running.ts";
import type { State } from "../state/state.ts";
import { lookAtRoots } from "./look-at-roots.ts";
import { lookAtLink } from "./status.ts";

export interface Finding {
  what: string;
  /** What to do about it; undefined if there is no problem. */
  cure?: string;
  /** Whether a host can do without it; then it is reported, but is no problem. */
  optional?: boolean;
}

export type Check = (state: State) => Finding[] | Promise<Finding[]>;

const MiB = 2 ** 20;
const leastFree = 1024 * MiB;
const largestJournal = 512 * MiB;
const clockToleranceMs = 60_000;
const patienceMs = 5_000;

export const checks: readonly Check[] = [
  versions,
  stateDirectory,
  disk,
  policy,
  pairing,
  server,
  daemon,
  service,
  git,
  () => program("gh", "To have pull requests made, install it: apt-get install gh", true),
  () => program("curl", "To install by command again, install it: apt-get install curl", true),
];

function versions(): Finding[] {
  const what = `hawserd ${daemonVersion}, on Node ${process.versions.node}`;
  if (trustedKeys.length > 0) return [{ what }];
  const cure =
    "Run from the sources it cannot update itself; the install command places one that can.";
  return [{ what, cure, optional: true }];
}

function stateDirectory({ directory }: State): Finding[] {
  const open = readdirSync(directory).filter((name) => {
    const isSecret = name === "credentials.json" || name.startsWith("journal-");
    return isSecret && (statSync(join(directory, name)).mode & 0o077) !== 0;
  });
  const cure = (name: string) => `Take it back: chmod 600 ${join(directory, name)}`;
  return [
    { what: `Its files are in ${directory}` },
    ...open.map((name) => ({ what: `Others can read ${name}`, cure: cure(name) })),
  ];
}

function disk({ directory }: State): Finding[] {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const what = `${Math.round(free / MiB)} MiB are free for ${directory}`;
  const journals = readdirSync(directory).filter((name) => name.startsWith("journal-"));
  const size = journals.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  const kept = `The journal takes ${Math.ceil(size / MiB)} MiB`;
  return [
    free < leastFree ? { what, cure: "Free some space, at least 1 GiB." } : { what },
    size > largestJournal
      ? { what: kept, cure: "Get the host online, so that it can deliver what it has recorded." }
      : { what: kept },
  ];
}

function policy(state: State): Finding[] {
  const { policyPath } = state;
  const { roots, problems } = createPolicy(policyPath).read();
  const add = "Add one: hawserd roots add DIR";
  if (problems.length > 0) {
    return problems.map(({ code, message }) => ({
      what: message,
      cure: code === "policy_missing" ? add : `Edit ${policyPath}`,
    }));
  }
  // The workers of a separated host run as other users.
  if (readSeparation(state) && (statSync(policyPath).mode & 0o004) === 0) {
    const what = `The policy file ${policyPath} cannot be read by the users of the agents`;
    return [{ what, cure: `Give it back to them: chmod 644 ${policyPath}` }];
  }
  if (roots.length === 0) return [{ what: "No directory may be worked in", cure: add }];
  return lookAtRoots(state, roots).map(({ root, problem, limit }) => {
    const remove = `hawserd roots remove ${root}`;
    if (problem) {
      const cure = `Make it, give that user access to it, or: ${remove}`;
      return { what: `Root ${root} ${problem}`, cure };
    }
    if (!limit) return { what: `Root ${root}` };
    const cure = "Sessions with the host's own logins can use it. For people's, give them access.";
    return { what: `Root ${root}. ${limit}`, cure, optional: true };
  });
}

function pairing(state: State): Finding[] {
  if (state.readCredentials()) return [];
  const cure = "Make a token (create_instance or regenerate_pairing_token), and run its command.";
  return [{ what: "This host is not paired", cure }];
}

async function server(state: State): Promise<Finding[]> {
  const credentials = state.readCredentials();
  if (!credentials) return [];
  const { serverUrl } = credentials;
  let date: string | null;
  try {
    const response = await fetch(new URL(fabricPath, serverUrl), {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.timeout(patienceMs),
    });
    date = response.headers.get("date");
  } catch (error) {
    const { cause } = error as { cause?: Error };
    const why = cause?.message ?? (error as Error).message;
    const cure = `See that this machine gets there: curl -v ${serverUrl}/healthz`;
    return [{ what: `${serverUrl} cannot be reached: ${why}`, cure }];
  }
  const reached = { what: `${serverUrl} answers` };
  const off = Math.abs(Date.now() - Date.parse(date ?? ""));
  if (Number.isNaN(off) || off <= clockToleranceMs) return [reached];
  return [
    reached,
    {
      what: `This machine's clock is ${Math.round(off / 1000)} s off the server's`,
      cure: "Let the network set it: timedatectl set-ntp true. Until then the daemon uses the server's time.",
    },
  ];
}

function daemon(state: State): Finding[] {
  const { isOnline, sentence, warning } = lookAtLink(state);
  if (!state.readCredentials()) return [];
  if (isOnline) return [{ what: sentence }];
  if (warning !== undefined) return [{ what: sentence, cure: warning }];
  if (runningDaemon(state) !== undefined) {
    return [
      { what: sentence, cure: "The daemon keeps trying by itself. For details, run: hawserd logs" },
    ];
  }
  const start =
    unitOf(state) === "ours"
      ? "systemctl --user start hawserd"
      : `setsid ${programOf(state)} run --quiet &`;
  return [{ what: sentence, cure: `Start it: ${start}` }];
}

function service(state: State): Finding[] {
  if (!existsSync(programOf(state))) return [{ what: "It is not installed, but run by hand" }];
  if (!hasUserManager()) {
    return [{ what: "No systemd of this user: after a reboot it is started by cron or by hand" }];
  }
  if (unitOf(state) !== "ours") {
    const cure = "Run the install command again, without a token.";
    return [{ what: "systemd does not know this daemon", cure }];
  }
  const found: Finding[] = [{ what: "systemd keeps it running" }];
  if (!isEnabled()) {
    const cure = "systemctl --user enable hawserd";
    found.push({ what: "systemd does not start it at boot", cure });
  }
  if (!hasLinger()) {
    const cure = "loginctl enable-linger, by an administrator if it is refused";
    found.push({ what: "It ends when its user logs out", cure });
  }
  return found;
}

async function git(): Promise<Finding[]> {
  const found = createGit();
  const [version, [warning]] = await Promise.all([found.version(), warningsOf(found)]);
  if (!version) return [{ what: "git is not found", cure: "Install it: apt-get install git" }];
  if (!warning) return [{ what: `git version ${version.text}` }];
  const isUsable = version.compare(oldestSafe) >= 0;
  const cure = isUsable
    ? "Repositories can be used meanwhile. To update it: apt-get install git"
    : "No repository is used until then. Update it: apt-get install git";
  return [{ what: warning.message, cure, optional: isUsable }];
}

function program(name: string, cure: string, optional = false): Finding[] {
  const { status, stdout } = spawnSync(name, ["--version"], {
    encoding: "utf8",
    timeout: patienceMs,
    env: childEnvironment(),
  });
  if (status !== 0) return [{ what: `${name} is not found`, cure, optional }];
  return [{ what: /^\D*\d+(?:\.\d+)*/.exec(stdout)?.[0] ?? name }];
}
