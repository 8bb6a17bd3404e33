// The command hawser as npm installs it. Runs on any Node since 18.18: goes on in this one if it is new
// enough, else in the Node of the signed list of engines, which it downloads if it is missing.
//
// Bundled as CommonJS for Node 18, so it imports only files that such a Node can run.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { Socket } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findNode } from "../src/engines/find-node.ts";
import { dataDirectory } from "../src/settings.ts";
import { judgeNode } from "./judge-node.ts";

/** Set for a process that a launcher has started: it ends when the launcher does. */
const ownerPipe = "HAWSER_LAUNCHER_PIPE";

const packageDirectory = join(__dirname, "..");

void launch().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
});

async function launch(): Promise<void> {
  watchLauncher();
  hidePasswords();
  const data = dataDirectory(dataOption(process.argv.slice(2)));
  const named = process.env["HAWSER_NODE"];
  if (named) {
    delete process.env["HAWSER_NODE"];
    return goOnIn(named);
  }
  const judged = judgeNode(process.versions.node);
  if (judged === "too old") {
    throw new Error(
      `This is Node ${process.versions.node}, and hawser starts with Node 18.18 or later. Install a newer Node.`,
    );
  }
  if (judged === "fits") return goOnHere(data);
  const node = await findNode({
    dataDirectory: data,
    packageDirectory,
    onProgress: (sentence) => void process.stderr.write(`${sentence}\n`),
    mayDownload: judged === "needs another",
  });
  return node ? goOnIn(node.program) : goOnHere(data);
}

async function goOnHere(data: string): Promise<void> {
  // Starts in half the time. A command that has no data directory does not make one.
  if (existsSync(data)) enableCompileCache(join(data, "cache"));
  const main = pathToFileURL(join(packageDirectory, "lib/server/hawser.mjs")).href;
  try {
    await import(main);
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exitCode = 1;
  }
}

/** Runs this launcher again in another Node: in place of this process, or as its child in an old Node. */
async function goOnIn(node: string): Promise<void> {
  const args = [__filename, ...process.argv.slice(2)];
  if (process.execve) {
    process.execve(node, [node, ...args], process.env);
  }
  // The child sees the pipe close when this process ends, even by SIGKILL.
  const child = spawn(node, args, {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...process.env, [ownerPipe]: "3" },
  });
  const isInTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // The terminal sends it to the child as well, and a second one would stop it without order.
      if (signal !== "SIGINT" || !isInTerminal) child.kill(signal);
    });
  }
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
    (resolve, reject) => {
      child.once("error", (error) =>
        reject(new Error(`${node} cannot be started: ${error.message}. Install Node 24.`)),
      );
      child.once("exit", (...ended) => resolve(ended));
    },
  );
  process.exit(code ?? 128 + constants.signals[signal!]);
}

/** Every user of the machine can list the arguments of a process. */
function hidePasswords(): void {
  if (process.argv.some((argument) => /:\/\/[^/]*:[^/]*@/.test(argument))) process.title = "hawser";
}

/** Ends this process as SIGTERM does when the launcher that started it is gone. */
function watchLauncher(): void {
  if (process.env[ownerPipe] === undefined) return;
  delete process.env[ownerPipe];
  const pipe = new Socket({ fd: 3, readable: true, writable: false });
  pipe.on("error", () => {}).on("end", () => process.kill(process.pid, "SIGTERM"));
  pipe.resume();
  pipe.unref();
}

/** The value of --data, wherever it stands. */
function dataOption(args: string[]): string | undefined {
  const at = args.findIndex((argument) => argument === "--data" || argument.startsWith("--data="));
  if (at === -1) return undefined;
  return args[at] === "--data" ? args[at + 1] : args[at]!.slice("--data=".length);
}
