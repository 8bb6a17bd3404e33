// Asking GitHub, or an enterprise's server of its kind, through the host's own client `gh`. The
// account, its token and the server's address are the client's affair: nothing of them is read here,
// and nothing that the client or the server says is repeated, but for what was asked.
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { findProgram, stampOf, type Program } from "../find-program.ts";

/** Why there is no answer. The first two are for the host's owner to put right. */
export type GhProblem =
  "cli_not_installed" | "not_logged_in" | "repository_not_found" | "unreachable";

export class GhError extends Error {
  readonly problem: GhProblem;

  constructor(problem: GhProblem, detail?: string) {
    super(detail ?? sentences[problem]);
    this.problem = problem;
  }
}

const sentences: Record<GhProblem, string> = {
  cli_not_installed: "This host has no GitHub client. Install gh, then run: gh auth login",
  not_logged_in: "The GitHub client on this host is not logged in. Run there: gh auth login",
  repository_not_found: "The GitHub account of this host cannot see this repository.",
  unreachable: "The GitHub client on this host got no answer. Try again.",
};

export interface Gh {
  program: () => Program | undefined;
  /** Changes when the client, its settings or its login does. */
  stamp: () => string | undefined;
  /** The `data` of a GraphQL answer, also of one that holds errors beside it. */
  ask: (
    query: string,
    variables: Record<string, string | undefined>,
    signal: AbortSignal,
  ) => Promise<Record<string, unknown>>;
  /** Whether the client is set to use ssh for a server's repositories. */
  prefersSsh: (host: string, signal: AbortSignal) => Promise<boolean>;
  /** Set for git, so that the client can give it the account's token. */
  environment: Record<string, string>;
}

/** What the client needs of the daemon's own environment: where it is, who it is, how it gets out. */
const inherited = [
  "HOME",
  "PATH",
  "USER",
  "LOGNAME",
  "LANG",
  "TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_RUNTIME_DIR",
  "DBUS_SESSION_BUS_ADDRESS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "HTTPS_PROXY",
  "https_proxy",
  "NO_PROXY",
  "no_proxy",
];
const ghInherited = [
  "GH_HOST",
  "GH_TOKEN",
  "GITHUB_TOKEN",
  "GH_ENTERPRISE_TOKEN",
  "GITHUB_ENTERPRISE_TOKEN",
  "GH_CONFIG_DIR",
];
const quiet = {
  GH_PROMPT_DISABLED: "1",
  GH_NO_UPDATE_NOTIFIER: "1",
  GH_NO_EXTENSION_UPDATE_NOTIFIER: "1",
  DO_NOT_TRACK: "1",
  NO_COLOR: "1",
};

const longestOutput = 4 * 1024 * 1024;

export function openGh(own: NodeJS.ProcessEnv = process.env): Gh {
  const forGit = { ...pick(own, ghInherited), ...quiet };
  const environment: Record<string, string> = { ...pick(own, inherited), ...forGit };
  const program = () => findProgram("gh", environment["PATH"]);
  const settings = configDirectory(environment);

  async function run(args: readonly string[], signal: AbortSignal): Promise<Ended> {
    const found = program();
    if (!found) throw new GhError("cli_not_installed");
    return runProgram(found.path, args, environment, signal);
  }

  return {
    program,
    environment: forGit,
    stamp() {
      const found = program();
      if (!found) return undefined;
      const files = ["hosts.yml", "config.yml"].map((name) => stampOf(join(settings, name)));
      return [found.stamp, ...files].join("\n");
    },
    async ask(query, variables, signal) {
      const fields = Object.entries({ query, ...variables }).flatMap(([name, value]) =>
        value === undefined ? [] : ["--raw-field", `${name}=${value}`],
      );
      const ended = await run(["api", "graphql", ...fields], signal);
      const data = dataOf(ended.output);
      // An account of several organizations may be kept from one of them; the rest still counts.
      if (data && Object.values(data).some((value) => value !== null)) return data;
      throw explain(ended);
    },
    async prefersSsh(host, signal) {
      const ended = await run(["config", "get", "git_protocol", "--host", host], signal);
      return ended.output.trim() === "ssh";
    },
  };
}

function pick(own: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  const entries = names.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]));
  return Object.fromEntries(entries) as Record<string, string>;
}

function configDirectory(environment: Record<string, string>): string {
  const { GH_CONFIG_DIR, XDG_CONFIG_HOME, HOME = homedir() } = environment;
  return GH_CONFIG_DIR ?? join(XDG_CONFIG_HOME ?? join(HOME, ".config"), "gh");
}

interface Ended {
  code: number | null;
  output: string;
  said: string;
}

function runProgram(
  path: string,
  args: readonly string[],
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const late = new GhError("unreachable", "The GitHub client on this host got no answer in time.");
  if (signal.aborted) return Promise.reject(late);
  const child = spawn(path, args, { cwd: "/", env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let said = "";
  const end = () => child.kill("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
    if (output.length > longestOutput) end();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-longestOutput / 64);
  });
  child.on("error", () => reject(new GhError("cli_not_installed")));
  child.on("close", (code) => {
    signal.removeEventListener("abort", end);
    if (signal.aborted) reject(late);
    else resolve({ code, output, said });
  });
  return promise;
}

function dataOf(output: string): Record<string, unknown> | undefined {
  try {
    return (JSON.parse(output) as { data?: Record<string, unknown> }).data;
  } catch {
    return undefined;
  }
}

/** What went wrong, by its kind only: the words are the server's. */
function explain({ code, said }: Ended): GhError {
  // `gh: what the server said (HTTP 403)`, or `gh: HTTP 502` where it said nothing.
  const status = /HTTP (\d{3})\)?\s*$/.exec(said)?.[1];
  // 4 is how the client says that it has no login to try.
  if (code === 4 || status === "401") return new GhError("not_logged_in");
  if (/Could not resolve to a Repository/.test(said)) return new GhError("repository_not_found");
  if (status === undefined) return new GhError("unreachable");
  return new GhError(
    "unreachable",
    `GitHub answered this host's client with status ${status}. Try again.`,
  );
}
