// Sends requests to GitHub, or to an enterprise's server of its kind, through the host's own client `gh`.
// The client handles the account, its token and the server's address: nothing of them is read here. Only
// requested data is returned; other output of the client or the server is not.
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { childEnvironment } from "../environment.ts";
import { findProgram, stampOf, type Program } from "../find-program.ts";

/** Why there is no answer. The host's owner can solve the first two. */
export type GhProblem =
  | "cli_not_installed"
  | "not_logged_in"
  | "repository_not_found"
  | "unreachable";

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

export interface GhRequest {
  host: string;
  method: "GET" | "POST";
  /** Without a leading slash. */
  path: string;
  body?: object;
}

/** The server understood what was asked, and will not do it. */
export class GhRefused extends Error {}

export interface Gh {
  program: () => Program | undefined;
  /** Changes when the client, its settings or its login changes. */
  stamp: () => string | undefined;
  /** The `data` of a GraphQL answer, also if the answer contains errors. */
  ask: (
    query: string,
    variables: Record<string, string | undefined>,
    signal: AbortSignal,
  ) => Promise<Record<string, unknown>>;
  /** One request to the REST API of a server that the client knows; `body` is sent as JSON. */
  request: (wanted: GhRequest, signal: AbortSignal) => Promise<unknown>;
  /** Whether the client has a login for this server, its own or in its environment. */
  knows: (host: string, signal: AbortSignal) => Promise<boolean>;
  /** Whether the client is set to use ssh for a server's repositories. */
  prefersSsh: (host: string, signal: AbortSignal) => Promise<boolean>;
  /** Environment of git by which the client can give it the account's token. */
  environment: Record<string, string>;
}

/** Variables of the daemon's environment that the client needs besides the usual ones. */
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

export function createGh(own: NodeJS.ProcessEnv = process.env): Gh {
  const forGit = { ...pick(own, ghInherited), ...quiet };
  const environment = childEnvironment(forGit, own);
  const program = () => findProgram("gh", environment["PATH"]);
  const settings = configDirectory(environment);

  async function run(args: readonly string[], signal: AbortSignal, input?: string): Promise<Ended> {
    const found = program();
    if (!found) throw new GhError("cli_not_installed");
    return runProgram(found.path, args, environment, signal, input);
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
      // An account may be barred from one of its organizations; the other data still counts.
      if (data && Object.values(data).some((value) => value !== null)) return data;
      throw explain(ended);
    },
    async request({ host, method, path, body }, signal) {
      const given = body ? ["--input", "-"] : [];
      const args = ["api", "--hostname", host, "--method", method, ...given, path];
      const ended = await run(args, signal, body && JSON.stringify(body));
      const answer = parseJson(ended.output);
      if (ended.code === 0 && answer !== undefined) return answer;
      const status = statusIn(ended.said);
      const refusal = status === "422" ? reasonIn(answer) : undefined;
      if (refusal !== undefined) throw new GhRefused(refusal);
      throw status === "404" ? new GhError("repository_not_found") : explain(ended);
    },
    async knows(host, signal) {
      // Fails without a request to the server; a bad login shows when it is used.
      const { said, output } = await run(["auth", "status", "--hostname", host], signal);
      return !/not found among authenticated|not logged into any/.test(said + output);
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
  input?: string,
): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const late = new GhError("unreachable", "The GitHub client on this host got no answer in time.");
  if (signal.aborted) return Promise.reject(late);
  const child = spawn(path, args, { cwd: "/", env, stdio: ["pipe", "pipe", "pipe"] });
  // The client may exit before it has read all of its input.
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
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
  const answer = parseJson(output);
  return (answer as { data?: Record<string, unknown> } | undefined)?.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Why the server refused, as far as its API's answer says so. */
function reasonIn(answer: unknown): string | undefined {
  const { message, errors } = (answer ?? {}) as { message?: unknown; errors?: unknown };
  const details = Array.isArray(errors)
    ? errors.map((each: unknown) => (each as { message?: unknown } | null)?.message ?? each)
    : [];
  const words = [...details, message].find((each) => typeof each === "string" && each !== "");
  return words as string | undefined;
}

/** The kind of failure only: the words are the server's. */
function explain({ code, said }: Ended): GhError {
  const status = statusIn(said);
  // The client exits with 4 if it has no login.
  if (code === 4 || status === "401") return new GhError("not_logged_in");
  if (/Could not resolve to a Repository/.test(said)) return new GhError("repository_not_found");
  if (status === undefined) return new GhError("unreachable");
  return new GhError(
    "unreachable",
    `GitHub answered this host's client with status ${status}. Try again.`,
  );
}

/** `gh: what the server said (HTTP 403)`, or `gh: HTTP 502` if it said nothing. */
const statusIn = (said: string) => /HTTP (\d{3})\)?\s*(?:$|\n)/.exec(said)?.[1];
