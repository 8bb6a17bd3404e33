// Installs agents, in the version that the service ships, into a directory of the daemon's own. A new
// version is made beside the one in use, complete and on disk, and must report its version before it
// replaces the other. A failure before that leaves the other in use.
import { mkdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { AgentKind, type AgentProblem } from "@hawser/contract";
import type { HostFacts, PublishedAgent } from "@hawser/host-protocol";
import { describe, type Log } from "../log.ts";
import type { Operations } from "../operations.ts";
import type { Policy } from "../policy/policy.ts";
import { isWhole, readCurrent, removeOthers, writeCurrent, type Current } from "./current.ts";
import { download } from "./download.ts";
import { problemsOf } from "./problems.ts";
import { InstallRefused } from "./refused.ts";
import { findShipped, type ShippedOptions } from "./shipped.ts";
import { tryProgram } from "./trial.ts";
import { flushDirectory, unpack } from "./unpack.ts";

export interface InstallsOptions extends ShippedOptions {
  policy: () => Policy;
  operations: Operations;
  log: Log;
  /** Called when readFacts() would return something else. */
  onChange: () => void;
}

/** An accepted order. `done` is undefined if the host has that version already. */
export interface Order {
  version: string;
  done?: Promise<void>;
}

type FoundAgent = HostFacts["agents"][number] & { problems: AgentProblem[] };

export interface Installs {
  /** Orders a kind to be installed; orders during an install share it. Throws InstallRefused. */
  order: (kind: AgentKind) => Promise<Order>;
  /** Installs opencode if it is missing and allowed, as pairing promises. Never throws. */
  provideOpencode: () => Promise<void>;
  readFacts: () => { agents: FoundAgent[] };
  /** Aborts the install that is running. */
  stop: () => Promise<void>;
}

const largestAgent = 4 * 1024 ** 3;
const longestInstallMs = 3600_000;
/** A link that keeps breaking must not make a host download again and again. */
const provideEveryMs = 3600_000;

export function createInstalls(options: InstallsOptions): Installs {
  const { directory, policy, operations, log, onChange } = options;
  const orders = new Map<AgentKind, Promise<Order>>();
  const failures = new Map<AgentKind, string>();
  const ended = new AbortController();
  let providedAt = Number.NEGATIVE_INFINITY;
  for (const kind of AgentKind.options) {
    // Removes what an interrupted install has left; its download is continued.
    removeOthers(directory, kind, "all downloads");
  }

  function order(kind: AgentKind): Promise<Order> {
    const running = orders.get(kind);
    if (running) return running;
    const taken = take(kind).catch((error: unknown) => {
      throw inWords(error);
    });
    orders.set(kind, taken);
    void settle(kind, taken);
    return taken;
  }

  async function settle(kind: AgentKind, taken: Promise<Order>): Promise<void> {
    try {
      const { version, done } = await taken;
      await done;
      failures.delete(kind);
      if (done) log.info("installed an agent", { kind, version });
    } catch (error) {
      failures.set(kind, describe(error));
      log.warn("could not install an agent", { kind, error: describe(error) });
    } finally {
      orders.delete(kind);
      onChange();
    }
  }

  async function take(kind: AgentKind): Promise<Order> {
    refuseByPolicy(kind, policy());
    const agent = await findShipped(options, kind, ended.signal);
    const { version } = agent;
    const current = readCurrent(directory, kind);
    if (current && isMadeOf(current, agent) && isWhole(directory, kind, current)) {
      return { version };
    }
    const done = operations.run("install_agent", `${kind} ${version}`, async (step) => {
      try {
        await install(agent, current, step);
      } catch (error) {
        throw inWords(error);
      }
    });
    // Callers that wait for it get the error; nobody has to wait.
    done.catch(() => {});
    return { version, done };
  }

  async function install(
    agent: PublishedAgent,
    former: Current | undefined,
    step: (step: string, percent?: number) => void,
  ): Promise<void> {
    const { kind, version, packages } = agent;
    const base = policy().tarballs ?? new URL("/releases/packages", options.serverUrl).href;
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(longestInstallMs)]);
    const own = join(directory, kind);
    mkdirSync(own, { recursive: true });
    // Every byte is read twice: at the download, and at the unpacking.
    const progress = createProgress(2 * sum(packages.map(({ size }) => size)), step);
    const names = packages.map(
      ({ sha512 }) => `${Buffer.from(sha512, "base64").toString("hex")}.tgz`,
    );
    const files = names.map((name) => join(own, name));
    removeOthers(directory, kind, names);
    const place = makeDirectory(own, version);
    let isSpent = false;
    try {
      for (const [at, { path, sha512, size }] of packages.entries()) {
        const onBytes = progress("downloading");
        await download({ url: `${base}/${path}`, file: files[at]!, size, sha512, onBytes, signal });
      }
      isSpent = true;
      let unpacked = 0;
      for (const [at, { into }] of packages.entries()) {
        unpacked += await unpack({
          tarball: files[at]!,
          into: join(place, into),
          limitBytes: largestAgent - unpacked,
          onBytes: progress("unpacking"),
          signal,
        });
      }
      await flushDirectory(own);
      step("trying it", 99);
      const program = join(place, agent.program);
      await tryProgram(program, version, join(own, "trial"), signal);
      writeCurrent(directory, kind, {
        version,
        directory: basename(place),
        program: agent.program,
        programSize: statSync(program).size,
        packages: packages.map(({ sha512 }) => sha512),
        previous: former?.directory ?? null,
      });
    } catch (error) {
      rmSync(place, { recursive: true, force: true });
      // An interrupted download is kept for the next attempt, unless it fills the disk.
      isSpent ||= isDiskFull(error);
      throw error;
    } finally {
      if (isSpent) for (const file of files) rmSync(file, { force: true });
    }
    removeOthers(directory, kind);
  }

  return {
    order,
    async provideOpencode() {
      const { installs, agents } = policy();
      if (!installs || !agents.has("opencode") || readCurrent(directory, "opencode")) return;
      if (options.trustedKeys.length === 0 || options.now() - providedAt < provideEveryMs) return;
      providedAt = options.now();
      await order("opencode").catch(() => {});
    },
    readFacts: () => ({
      agents: AgentKind.options.map((kind) => {
        const current = readCurrent(directory, kind);
        const isBroken = current !== undefined && !isWhole(directory, kind, current);
        const problems = problemsOf(kind, policy(), {
          current,
          isBroken,
          failure: failures.get(kind),
        });
        const installed = current !== undefined && !isBroken;
        const version = installed ? current.version : null;
        return { kind, installed, version, ready: problems.length === 0, problems };
      }),
    }),
    async stop() {
      ended.abort(new InstallRefused("stopped", "The daemon was stopped while it installed this."));
      await Promise.allSettled([...orders.values()].map(async (taken) => (await taken).done));
    },
  };
}

function refuseByPolicy(kind: AgentKind, { installs, agents, problems }: Policy): void {
  const line = installs ? `agents = … ${kind}` : "installs = yes";
  if (installs && agents.has(kind)) return;
  const forbidden = `The owner of this host does not allow it. To allow it, write "${line}" into the host's policy file.`;
  throw new InstallRefused("policy_forbids", problems[0]?.message ?? forbidden);
}

function isMadeOf({ version, packages }: Current, agent: PublishedAgent): boolean {
  const wanted = agent.packages.map(({ sha512 }) => sha512);
  return version === agent.version && packages.join() === wanted.join();
}

/** Named by the version, unless that one is in use: then its directory is left alone. */
function makeDirectory(parent: string, version: string): string {
  for (let count = 1; ; count++) {
    const place = join(parent, count === 1 ? version : `${version}-${count}`);
    try {
      mkdirSync(place);
      return place;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function createProgress(total: number, step: (step: string, percent?: number) => void) {
  let passed = 0;
  let reported = "";
  return (what: string) => (count: number) => {
    passed += count;
    const percent = Math.min(98, Math.floor((100 * passed) / total));
    if (reported === `${what} ${percent}`) return;
    reported = `${what} ${percent}`;
    step(what, percent);
  };
}

const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);

const isDiskFull = (error: unknown) =>
  ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");

/** The error of the disk or of a signal, in words for the caller. */
function inWords(error: unknown): unknown {
  if (error instanceof InstallRefused) return error;
  if ((error as Error).cause instanceof InstallRefused) return (error as Error).cause;
  if (!isDiskFull(error)) return error;
  const message =
    "There is no space left on the disk that holds the daemon's directory. Make room, and try again.";
  return new InstallRefused("disk_full", message, { cause: error });
}
