// A control-plane node in its own process, started as an operator starts it.
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { freePort } from "./free-port.ts";
import { mainFile } from "./main-file.ts";
import { stopProcess } from "./stop-process.ts";
import { nodeEnvironment } from "./node-environment.ts";

export interface ControlPlaneNode extends AsyncDisposable {
  baseUrl: string;
  metricsUrl: string;
  pid: number;
  process: ChildProcess;
  /** The parsed lines of its log. */
  log: Record<string, unknown>[];
}

interface NodeOptions {
  databaseUrl: string;
  masterKeyFile: string;
  port?: number;
  environment?: Record<string, string>;
  /** Restarts the node when a source file changes. */
  reload?: boolean;
}

const main = mainFile("control-plane");

export async function startControlPlaneNode(options: NodeOptions): Promise<ControlPlaneNode> {
  const port = options.port ?? (await freePort());
  const metricsPort = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const flags = options.reload ? ["--watch", "--watch-preserve-output"] : [];
  // The kernel ends the node if this process dies, even by SIGKILL.
  const command = ["--pdeathsig=TERM", "--", process.execPath, ...flags, main, "serve"];
  const child = spawn("setpriv", command, {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...nodeEnvironment(),
      HAWSER_DATABASE_URL: options.databaseUrl,
      HAWSER_MASTER_KEY_FILE: options.masterKeyFile,
      HAWSER_LISTEN: `127.0.0.1:${port}`,
      HAWSER_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
      // No balancer is in front of it.
      HAWSER_DRAIN_SECONDS: "0",
      ...options.environment,
    },
  });
  const log: Record<string, unknown>[] = [];
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith("{")) log.push(JSON.parse(line) as Record<string, unknown>);
    if (options.reload) process.stderr.write(`${line}\n`);
  });
  const ended = new Promise<never>((_resolve, reject) => {
    child.once("exit", (code, signal) => {
      const lines = log.map((line) => JSON.stringify(line)).join("\n");
      reject(
        new Error(`The node ended (${code ?? signal}) before it was ready.\n${errors}${lines}`),
      );
    });
  });
  ended.catch(() => {});
  await Promise.race([untilReady(baseUrl), ended]);
  return {
    baseUrl,
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    pid: child.pid!,
    process: child,
    log,
    async [Symbol.asyncDispose]() {
      await stopProcess(child);
    },
  };
}

async function untilReady(baseUrl: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const ready = await fetch(`${baseUrl}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    if (Date.now() > deadline) throw new Error(`The node at ${baseUrl} was not ready within 60 s.`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
