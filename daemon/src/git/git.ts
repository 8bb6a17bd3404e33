// The only place that starts git. A command is one of a fixed list, with arguments as an array, in an
// environment that we make, with limits for time and output, and ended together with everything it started.
// Before a command in a repository, the repository's configuration is read, and every setting that could
// run a program is switched off.
//
// The configuration can change between that check and the command: only settings that were seen are
// switched off. But whoever can write there at that moment is the user as whom git runs.
import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { signalGroup } from "../signal-process.ts";
import {
  fixedSettings,
  gitCommands,
  gitEnvironment,
  takesNoOperands,
  takesRevisions,
  type GitCommand,
} from "./commands.ts";
import { redactCredentials } from "./redact.ts";
import { judgeConfig, parseConfigList } from "./repository-config.ts";
import { createVersionCache, type GitVersion } from "./version.ts";

export interface GitCall {
  /** Each begins with a hyphen and contains its own value: `--depth=1`. */
  options?: readonly string[];
  /** Only for commands that distinguish revisions from paths. */
  revisions?: readonly string[];
  /** Follow `--`: paths, addresses and names. */
  operands?: readonly string[];
  deadlineMs: number;
  /** Standard input; empty by default. */
  input?: string;
  /** For this call only; they override the user's settings and those that make a repository harmless. */
  settings?: readonly (readonly [name: string, value: string])[];
  /** Besides what every git gets, for example what a credential helper needs. */
  environment?: Readonly<Record<string, string>>;
  /** Called with git's standard error as it arrives: progress, and why it failed. Not redacted. */
  onSaid?: (text: string) => void;
  /** Input and output are bytes, one per character: names of files need not be text. */
  isBytes?: boolean;
  /** More output than this is a failure; 8 MiB by default. */
  outputLimitBytes?: number;
  signal?: AbortSignal;
}

export type GitFailure =
  /** There is no git on this host, or one too old to be safe. */
  | "git_missing"
  | "git_outdated"
  /** The repository's own configuration cannot be made harmless. */
  | "unsafe_repository"
  | "out_of_time"
  | "too_much_output"
  /** Git refused, or failed. */
  | "failed";

/** The message is a sentence for people, without credentials. */
export class GitError extends Error {
  readonly reason: GitFailure;
  /** Git's exit code; null if it did not exit by itself. */
  readonly exitCode: number | null;

  constructor(reason: GitFailure, message: string, exitCode: number | null = null) {
    super(redactCredentials(message));
    this.reason = reason;
    this.exitCode = exitCode;
  }
}

export interface Git {
  /** Runs outside of every repository. Returns git's output. */
  run: (command: GitCommand, call: GitCall) => Promise<string>;
  /** Runs in the repository whose top is this directory. */
  runIn: (directory: string, command: GitCommand, call: GitCall) => Promise<string>;
  /** Starts a process only if the program has changed; undefined if there is no git. */
  version: () => Promise<GitVersion | undefined>;
}

const readConfigMs = 5_000;
const defaultOutputLimitBytes = 8 * 1024 * 1024;
const errorLimitBytes = 64 * 1024;
/** The first git with GIT_CONFIG_COUNT, which names that contain `=` need. */
export const oldestSafe = [2, 31] as const;

export function createGit(own: NodeJS.ProcessEnv = process.env): Git {
  const environment = gitEnvironment(own);
  const version = createVersionCache(environment["PATH"] ?? "", async () =>
    run({ args: ["version"], cwd: "/", environment, deadlineMs: 5_000 }),
  );

  /** The settings that make the repository harmless. */
  async function judge(directory: string, inside: Record<string, string>, signal?: AbortSignal) {
    const list = await run({
      args: [...fixedArguments, "config", "--null", "--show-scope", "--no-includes", "--list"],
      cwd: directory,
      environment: inside,
      deadlineMs: readConfigMs,
      ...(signal && { signal }),
    });
    const { settings, refused } = judgeConfig(parseConfigList(list));
    if (refused.length > 0) {
      throw new GitError(
        "unsafe_repository",
        `The repository ${directory} sets ${refused.slice(0, 5).join(", ")} in its own configuration, ` +
          "which could lead git elsewhere. Remove that, or set it with git config --global.",
      );
    }
    return settings;
  }

  return {
    version,
    run: (command, call) =>
      run({
        ...call,
        args: argumentsOf(command, call),
        cwd: "/",
        environment: {
          ...environment,
          ...call.environment,
          ...(call.settings && settingsEnvironment(call.settings)),
        },
      }),

    async runIn(directory, command, call) {
      const found = await version();
      if (!found) throw missing();
      if (found.compare(oldestSafe) < 0) {
        const message = `Git ${found.text} on this host is too old to be used safely. Install 2.43.7 or newer.`;
        throw new GitError("git_outdated", message);
      }
      const top = realpathSync(directory);
      // Searched here and not above: a directory that is no repository is not part of another.
      const inside = { ...environment, GIT_CEILING_DIRECTORIES: dirname(top) };
      const settings = await judge(top, inside, call.signal);
      return run({
        ...call,
        args: argumentsOf(command, call),
        cwd: top,
        environment: {
          ...inside,
          ...call.environment,
          ...settingsEnvironment([...settings, ...(call.settings ?? [])]),
        },
      });
    },
  };
}

const fixedArguments = [
  "--no-pager",
  ...fixedSettings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
];

function argumentsOf(command: GitCommand, call: GitCall): string[] {
  const { options = [], revisions = [], operands = [] } = call;
  const odd = options.find((option) => !option.startsWith("-") || option === "--");
  if (odd !== undefined) throw new Error(`"${odd}" is no option.`);
  const args = [...fixedArguments, ...command.split(" "), ...options, ...gitCommands[command]];
  if (takesRevisions.has(command)) args.push("--end-of-options", ...revisions);
  else if (revisions.length > 0) throw new Error(`git ${command} takes no revisions.`);
  return takesNoOperands.has(command) ? args : [...args, "--", ...operands];
}

/** Passed as environment instead of `-c`, which ends a name at its first `=` and shows in process lists. */
export function settingsEnvironment(settings: readonly (readonly [string, string])[]) {
  const environment: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  settings.forEach(([name, value], index) => {
    environment[`GIT_CONFIG_KEY_${index}`] = name;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return environment;
}

interface Run {
  args: readonly string[];
  cwd: string;
  environment: Record<string, string>;
  deadlineMs: number;
  input?: string;
  isBytes?: boolean;
  outputLimitBytes?: number;
  onSaid?: (text: string) => void;
  signal?: AbortSignal;
}

function run({
  args,
  cwd,
  environment,
  deadlineMs,
  signal,
  onSaid,
  input,
  isBytes = false,
  ...limits
}: Run): Promise<string> {
  const { outputLimitBytes = defaultOutputLimitBytes } = limits;
  if (signal?.aborted) return Promise.reject(outOfTime());
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // A process group, so that git is ended together with what it starts.
  const child = spawn("git", args, {
    cwd,
    env: environment,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  // Git may exit before it has read all of its input; its output then says why.
  child.stdin.on("error", () => {});
  const encoding = isBytes ? "latin1" : "utf8";
  child.stdin.end(input ?? "", encoding);
  const output: Buffer[] = [];
  let outputBytes = 0;
  let said = "";
  let failure: GitError | undefined;
  const end = (why: GitError) => {
    failure ??= why;
    signalGroup(child.pid, "SIGKILL");
  };
  child.stdout.on("data", (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes <= outputLimitBytes) output.push(chunk);
    else end(new GitError("too_much_output", "Git printed more than was asked for."));
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-errorLimitBytes);
    onSaid?.(chunk);
  });
  const timer = setTimeout(() => end(outOfTime()), deadlineMs);
  const abort = () => end(outOfTime());
  signal?.addEventListener("abort", abort, { once: true });
  const settle = (error?: GitError) => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    if (error) reject(error);
    else resolve(Buffer.concat(output).toString(encoding));
  };
  child.on("error", (error) => {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    settle(isMissing ? missing() : new GitError("failed", `Git did not start: ${error.message}.`));
  });
  // A helper that git leaves running may keep the pipes open.
  child.on("exit", () => setTimeout(() => closePipes(), 1_000).unref());
  const closePipes = () => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  child.on("close", (code, by) => {
    if (failure) return settle(failure);
    if (code === 0) return settle();
    return settle(new GitError("failed", explain(said, code, by), code));
  });
  return promise;
}

const missing = () =>
  new GitError("git_missing", "There is no git on this host. Install it, then try again.");

const outOfTime = () =>
  new GitError("out_of_time", "Git did not finish in time and was stopped. Try again.");

/** Git's own words: the lines marked fatal or error, else the last line. */
function explain(said: string, code: number | null, by: NodeJS.Signals | null): string {
  const lines = said
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("hint:"));
  const told = lines.filter((line) => /^(?:fatal|error|remote|ssh|ERROR):/i.test(line));
  const words = (told.length > 0 ? told : lines.slice(-1)).slice(-3).join(" ").slice(0, 1_000);
  return words === ""
    ? `Git ended with ${by ?? `code ${code}`} and no message.`
    : `Git said: ${words}`;
}
