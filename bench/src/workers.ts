// The two processes that a measurement starts beside the world: the load generator and the bare server.
// Both receive orders over IPC, and end when disposed or when this process ends.
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import type { BareStatement } from "./bare-server.ts";
import type { LoadJob, LoadResult } from "./load.ts";

export interface LoadGenerator extends AsyncDisposable {
  run(job: LoadJob): Promise<LoadResult>;
}

export function startLoadGenerator(): LoadGenerator {
  const child = fork(fileURLToPath(new URL("./load.ts", import.meta.url)));
  return {
    run: (job) => ask<LoadResult>(child, job),
    [Symbol.asyncDispose]: () => stopProcess(child),
  };
}

export interface BareServer extends AsyncDisposable {
  url: string;
  pid: number;
}

export async function startBareServer(statement: BareStatement): Promise<BareServer> {
  const child = fork(fileURLToPath(new URL("./bare-server.ts", import.meta.url)));
  return {
    url: await ask<string>(child, statement),
    pid: child.pid!,
    [Symbol.asyncDispose]: () => stopProcess(child),
  };
}

/** Sends one order at a time. */
export function ask<Result>(child: ChildProcess, question: object): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`${child.spawnargs.at(-1)} ended before it answered.`));
    child.once("exit", onExit);
    child.once("message", (answer: { result: Result } | { error: string }) => {
      child.off("exit", onExit);
      // IPC drops a result that is undefined.
      if ("error" in answer) reject(new Error(answer.error));
      else resolve(answer.result);
    });
    child.send(question);
  });
}
