// The policy file: what the owner of this host allows. The daemon obeys it, and nothing that the control
// plane sends can change it.
//
// Lines of `name = value`; `#` begins a comment. A file that is missing, or that cannot be read or parsed,
// allows nothing: its owner meant to restrict something, and a guess could allow it.
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { AgentKind, SessionMode, type HostWarning } from "@hawser/contract";

export interface Policy {
  /** Directories in which the service may work, as written. */
  roots: readonly string[];
  agents: ReadonlySet<AgentKind>;
  /** Whether the service may install agents and update the daemon. */
  installs: boolean;
  shell: boolean;
  /** The widest mode that sessions may have. */
  highestMode: SessionMode;
  /** Whether unattended sessions may run any command, because this user is kept for agents. */
  unattendedCommands: boolean;
  exposures: boolean;
  /** Whether callers may open access to servers that sessions run. As `exposures` if the file does not say. */
  previews: boolean;
  /** Whether this user's agent logins on the host may be used. */
  ownLogins: boolean;
  /** Whether people may log in, although their agents run as one user and could read each other's logins. */
  sharedLogins: boolean;
  /** Whether repositories may be cloned from addresses without encryption: http and git. */
  insecureCloneAddresses: boolean;
  /** Where agents are downloaded from, if not from the address in the service's list. */
  tarballs: string | null;
  /** Limit for all parked worktrees on disk. */
  parkedLimitBytes: number;
  /** Why the file cannot be used, and what to do. A policy with a problem allows nothing. */
  problems: readonly HostWarning[];
}

export const allowAll: Policy = {
  roots: [],
  agents: new Set(AgentKind.options),
  installs: true,
  shell: true,
  highestMode: "unattended",
  unattendedCommands: false,
  exposures: true,
  previews: true,
  ownLogins: true,
  sharedLogins: false,
  insecureCloneAddresses: false,
  tarballs: null,
  parkedLimitBytes: 20 * 2 ** 30,
  problems: [],
};

const allowNothing: Policy = {
  roots: [],
  agents: new Set(),
  installs: false,
  shell: false,
  highestMode: "ask",
  unattendedCommands: false,
  exposures: false,
  previews: false,
  ownLogins: false,
  sharedLogins: false,
  insecureCloneAddresses: false,
  tarballs: null,
  // Nothing is dropped because of a limit that cannot be read.
  parkedLimitBytes: Infinity,
  problems: [],
};

/** The file as the installer writes it, with a line for each root. */
export function policyText(roots: readonly string[]): string {
  return `# What Hawser may do on this host. The daemon obeys this file; the service cannot change it.
# Edit it at any time: it is read again before each use.

# The directories the service may work in: folders that hold projects, or repositories. One a line.
${roots.map((root) => `root = ${root}`).join("\n")}

# The coding agents that may run: any of opencode, claude_code, codex.
agents = opencode claude_code codex

# Whether the service may install and update agents and the daemon: yes or no.
installs = yes

# Whether callers may run shell commands in a session's directory: yes or no.
shell = yes

# The widest mode of sessions: ask, auto or unattended. The service can only choose a narrower one.
highest-mode = unattended

# Whether unattended sessions may run any command as this user, unasked: yes or no. Say yes only if this user
# is kept for agents, because such a command can read and change everything that the user can.
unattended-commands = no

# Whether callers may open direct access to agents on this host: yes or no.
exposures = yes

# Whether callers may open access to servers that sessions run, such as the dev server of a web page: yes or no.
previews = yes

# Whether sessions may use the agents' logins that this user has on this host: yes or no.
own-logins = yes

# Whether people may log in with accounts of their own: yes or no. Their agents run as this user, so each of them
# could read the logins of the others. Say yes only if everybody who uses this host may do that.
# shared-logins = yes

# Whether repositories may be cloned from http:// and git:// addresses: yes or no. Others on the network can
# read and change what is cloned from there. No login of this user is sent to them.
# insecure-clone-addresses = yes

# Where agents are downloaded from, such as a server of your own. The service's choice when left out.
# tarballs = https://files.example/agents

# How much disk the worktrees of ended sessions may take, which are kept for 14 days: a number of GiB.
# Above it the oldest are dropped.
parked-gib = 20
`;
}

/**
 * Reads the file again only if it has changed, or could not be used. Calls `onChange` if it has changed since
 * the first read.
 */
export function createPolicy(path: string, onChange?: () => void): { read: () => Policy } {
  let known: { stamp: string | undefined; policy: Policy } | undefined;
  return {
    read() {
      const former = known;
      const stamp = stampOf(path);
      if (former && former.stamp === stamp && former.policy.problems.length === 0) {
        return former.policy;
      }
      const policy = readPolicy(path, stamp);
      known = { stamp, policy };
      if (former && (former.stamp !== stamp || messageOf(former.policy) !== messageOf(policy))) {
        onChange?.();
      }
      return policy;
    },
  };
}

const messageOf = ({ problems }: Policy) => problems[0]?.message;

function readPolicy(path: string, stamp: string | undefined): Policy {
  if (stamp === undefined) return missing(path);
  try {
    return parsePolicy(readFileSync(path, "utf8"));
  } catch (error) {
    return unreadable(path, (error as Error).message);
  }
}

/** undefined if there is no file. Differs after each change, and names what keeps it from being looked at. */
function stampOf(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false, bigint: true });
    return found && `${found.mtimeNs} ${found.ctimeNs} ${found.size} ${found.ino}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function missing(path: string): Policy {
  const message = `The policy file ${path} is missing, so this host allows nothing. On the host, make the file with: hawserd roots add DIR`;
  return { ...allowNothing, problems: [{ code: "policy_missing", message }] };
}

function unreadable(path: string, why: string): Policy {
  const message = `The policy file ${path} cannot be read, so this host allows nothing: ${why.replace(/\.?$/, ".")} On the host, correct the file; a restart is not needed.`;
  return { ...allowNothing, problems: [{ code: "policy_unreadable", message }] };
}

const switches = {
  installs: "installs",
  shell: "shell",
  "unattended-commands": "unattendedCommands",
  exposures: "exposures",
  previews: "previews",
  "own-logins": "ownLogins",
  "shared-logins": "sharedLogins",
  "insecure-clone-addresses": "insecureCloneAddresses",
} as const;

/** Throws an error whose message names the line. */
export function parsePolicy(text: string): Policy {
  const roots: string[] = [];
  const changes: Partial<Record<string, unknown>> = {};
  const seen = new Set<string>();
  text.split("\n").forEach((line, index) => {
    const meant = line.replace(/^\s*#.*|\s+#.*/, "").trim();
    if (meant === "") return;
    const fail = (why: string): never => {
      throw new Error(`line ${index + 1}: ${why}`);
    };
    const [, name = "", value = ""] =
      /^([\w-]+)\s*=\s*(.+)$/.exec(meant) ?? fail(`"${meant}" is not of the form name = value.`);
    if (name === "root") {
      if (!isAbsolute(value)) fail(`"${value}" is not an absolute path.`);
      const root = normalize(value).replace(/(.)\/$/, "$1");
      if (!roots.includes(root)) roots.push(root);
      return;
    }
    if (seen.has(name)) fail(`"${name}" is set a second time. Keep one of the two lines.`);
    seen.add(name);
    if (name === "agents") {
      const kinds = value.split(/[\s,]+/).map((kind) => {
        const known = AgentKind.safeParse(kind).data;
        return (
          known ??
          fail(`"${kind}" is not an agent. The agents are ${AgentKind.options.join(", ")}.`)
        );
      });
      changes["agents"] = new Set(kinds);
    } else if (name === "highest-mode") {
      const modes = SessionMode.options.join(", ");
      changes["highestMode"] =
        SessionMode.safeParse(value).data ??
        fail(`"${value}" is not a mode. The modes are ${modes}.`);
    } else if (name === "tarballs") {
      if (!/^https?:\/\/\S+$/.test(value)) fail(`"${value}" is not an https:// address.`);
      changes["tarballs"] = value.replace(/\/+$/, "");
    } else if (name === "parked-gib") {
      if (!/^\d{1,6}$/.test(value)) fail(`"${value}" is not a whole number of GiB.`);
      changes["parkedLimitBytes"] = Number(value) * 2 ** 30;
    } else if (Object.hasOwn(switches, name)) {
      if (value !== "yes" && value !== "no") fail(`"${name}" must be yes or no.`);
      changes[switches[name as keyof typeof switches]] = value === "yes";
    } else {
      fail(`there is no setting "${name}".`);
    }
  });
  // A file from before there were previews may forbid direct access of every kind.
  const previews = changes["exposures"] !== false;
  return { ...allowAll, previews, ...changes, roots };
}
