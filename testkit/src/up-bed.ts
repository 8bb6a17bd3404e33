// `hawser up` as a person has it: the packages as npm installs them, an unprivileged user with an empty home,
// and the real opencode, set up to ask a scripted model. Everything is removed at the end.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createCaller, type Caller } from "./caller.ts";
import { isRoot, makeCleanUser, type CleanUser } from "./clean-user.ts";
import { freePort } from "./free-port.ts";
import { createRepository } from "./git-repository.ts";
import { giveAgents } from "./give-agents.ts";
import { giveHome } from "./give-home.ts";
import { startPackageServer, type PackageServer } from "./package-server.ts";
import { packagedProduct } from "./packaged-product.ts";
import { endProcesses, listProcesses, type RunningProcess } from "./processes.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { until } from "./until.ts";

/** The line that `hawser up --json` prints when it is ready. */
export interface ReadyLine {
  url: string;
  key: string;
  instanceId: string;
}

export interface StartedUp {
  process: ChildProcess;
  /** Resolves when the line is printed. Rejects with the output if the process ends before. */
  ready: Promise<ReadyLine>;
  ended: Promise<number | null>;
  /** What it printed on standard error. */
  said: () => string;
  startedAt: number;
}

export interface UpStatus {
  running: boolean;
  url: string | null;
  pid: number | null;
  parts: { name: string; running: boolean; pid: number; restarts: number }[];
  host: { online: boolean | null; agents: number };
}

export interface UpBed extends AsyncDisposable {
  user: CleanUser;
  /** The data directory. */
  data: string;
  /** A repository below ~/hawser. */
  repository: string;
  model: ScriptedModel | undefined;
  packages: PackageServer;
  /** Starts `hawser up --json` with these further arguments. */
  start: (args?: string[], environment?: Record<string, string>) => StartedUp;
  /** Runs `hawser` to its end. */
  run: (args: string[]) => Promise<{ code: number | null; output: string }>;
  status: () => Promise<UpStatus>;
  callerFor: (line: ReadyLine) => Caller;
  /** The running processes of this user. */
  processes: () => RunningProcess[];
}

export interface UpBedOptions {
  /** Installs the real opencode, which asks a scripted model. */
  agents?: boolean;
  /** Gives the user a systemd. Needs root. */
  systemd?: boolean;
  /** Directory below the home for the data; by default .hawser-server. */
  data?: string;
}

export async function makeUpBed(options: UpBedOptions = {}): Promise<UpBed> {
  await using parts = new AsyncDisposableStack();
  const packages = parts.use(await startPackageServer());
  const model = options.agents ? parts.use(await startScriptedModel()) : undefined;
  const user = parts.use(await makeCleanUser({ systemd: options.systemd ?? false }));
  const { uid, gid } = statSync(user.home);
  const processes = () =>
    listProcesses().filter(({ pid, environment }) =>
      isRoot
        ? statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid
        : environment.includes(`HOME=${user.home}`),
    );
  parts.defer(() => endProcesses(processes));
  const place = join(dirname(user.home), "npm");
  const program = await installPackages(place);
  const node = join(place, "node");
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const data = join(user.home, options.data ?? ".hawser-server");
  const repository = createRepository(join(user.home, "hawser/widget"));
  if (model) {
    mkdirSync(join(data, "host"), { recursive: true });
    await giveAgents({
      kinds: ["opencode"],
      stateDirectory: join(data, "host"),
      home: user.home,
      modelUrl: model.url,
    });
  }
  giveHome(user.home);
  // The usual port may be that of another test, which takes it while this one is killed.
  const listen = ["--listen", `127.0.0.1:${await freePort()}`];
  const common = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: user.home,
    USER: user.name,
    HAWSER_AGENT_PACKAGES: packages.url,
    HAWSER_SERVER_HOME: data,
    // The machine's own NATS may be too old or new enough; the test uses that of the package.
    npm_config_registry: packages.url,
  };
  const asUser = (words: string[], environment: Record<string, string> = {}) => {
    const own = Object.entries({ ...common, ...environment }).map(
      ([name, value]) => `${name}=${value}`,
    );
    const reduced = [
      "--reuid",
      String(uid),
      "--regid",
      String(gid),
      "--clear-groups",
      "--no-new-privs",
    ];
    // Both programs replace themselves, so that the child is hawser itself.
    const [command = "", ...args] = [
      ...(isRoot ? ["setpriv", ...reduced] : []),
      "env",
      "-i",
      ...own,
      node,
      program,
      ...words,
    ];
    return spawn(command, args, { cwd: user.home, stdio: ["ignore", "pipe", "pipe"] });
  };
  const run: UpBed["run"] = async (args) => {
    const child = asUser(args);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    const limit = setTimeout(() => child.kill("SIGKILL"), 120_000);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(limit);
    return { code, output };
  };
  const owned = parts.move();
  return {
    user,
    data,
    repository,
    model,
    packages,
    start: (args = [], environment = {}) =>
      watch(asUser(["up", "--json", ...listen, ...args], environment)),
    run,
    async status() {
      const { output } = await run(["status", "--json"]);
      return JSON.parse(output) as UpStatus;
    },
    callerFor: ({ url, key }) => createCaller(url, key),
    processes,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function watch(child: ChildProcess): StartedUp {
  let said = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const ready = new Promise<ReadyLine>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once("line", (line) =>
      resolve(JSON.parse(line) as ReadyLine),
    );
    void ended.then((code) => reject(new Error(`hawser up ended with ${code}:\n${said}`)));
  });
  ready.catch(() => {});
  return { process: child, ready, ended, said: () => said, startedAt: performance.now() };
}

/** As npm does: the package hawser, with its engines beside it. Returns the program's file. */
async function installPackages(place: string): Promise<string> {
  const product = await packagedProduct();
  const modules = join(place, "node_modules");
  cpSync(product.directory, join(modules, "hawser"), { recursive: true });
  for (const engine of product.engines) {
    const into = join(modules, engine.package);
    mkdirSync(into, { recursive: true });
    execFileSync("tar", ["-xzf", product.tarballOf(engine), "-C", into, "--strip-components=1"]);
  }
  execFileSync("chmod", ["-R", "go+rX", place]);
  return join(modules, "hawser/lib/server/hawser.mjs");
}

/** Waits until no process of the user is left but those of agents. */
export const untilStopped = (bed: UpBed, patienceMs = 15_000): Promise<unknown> =>
  until(
    "only agents run",
    () =>
      bed
        .processes()
        .every(({ environment }) => environment.some((each) => each.startsWith("HAWSER_AGENT="))),
    patienceMs,
  );

/** The ids of the parts, as the file status.json has them. */
export function partPids({ data }: Pick<UpBed, "data">): Record<string, number> {
  const text = readFileSync(join(data, "status.json"), "utf8");
  const { parts } = JSON.parse(text) as { parts: { name: string; pid: number }[] };
  return Object.fromEntries(parts.map(({ name, pid }) => [name, pid]));
}
