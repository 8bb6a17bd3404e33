// Starts a program that ends when this process does, however this process ends. A shell of about 1 MB stands
// between them: it holds the other end of a channel, and sends SIGINT to the program when the channel closes.
// PostgreSQL, nats-server, the node and the daemon all stop in order on SIGINT.
//
// The program is in a process group of its own, so that Ctrl-C in a terminal reaches only this process, which
// then stops its parts in the right order.
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { signalProcess } from "@hawser/daemon/signal-process.ts";
import { identify, isRunning } from "./run-state.ts";

/**
 * Descriptor 3 is the channel; the program itself does not get it. The program's id is the only line sent.
 * The signal is repeated, because a program that has just begun may lose the first one. The line is sent last:
 * a shell that dies of a closed channel has started the second process by then.
 */
const script = `"$@" 3<&- & c=$!
{ trap 'kill $s; exit' TERM; read -r _ <&3; n=0
  while [ $n -lt 20 ] && kill -INT $c; do n=$((n+1)); sleep 3 & s=$!; wait $s; done; } 2>/dev/null & r=$!
echo $c >&3; exec 3<&-; wait $c; s=$?; kill $r 2>/dev/null; exit $s`;

export interface KeptOptions {
  program: string;
  args: readonly string[];
  environment: Record<string, string>;
  directory: string;
  /** File descriptor for the output; "pipe" collects it instead. */
  output: number | "pipe";
}

export interface Ended {
  /** 128 and the signal's number after a signal, as a shell reports it. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface Kept {
  /** The program's process. Rejects if it could not be started. */
  pid: Promise<number>;
  /** Resolves when the program has ended. */
  ended: Promise<Ended>;
  /** Sends SIGINT, and SIGKILL if the program still runs after this time. */
  stop: (patienceMs: number) => Promise<void>;
}

export function keep({ program, args, environment, directory, output }: KeptOptions): Kept {
  const child = spawn("/bin/sh", ["-c", script, "keeper", program, ...args], {
    detached: true,
    cwd: directory,
    env: environment,
    stdio: ["ignore", output, output, "pipe"],
  });
  const channel = child.stdio[3] as Socket;
  channel.on("error", () => {});
  const collected = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (collected.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (collected.stderr += text));
  const pid = new Promise<number>((resolve, reject) => {
    createInterface({ input: channel }).once("line", (line) => resolve(Number(line)));
    child.once("error", reject);
    child.once("close", () => reject(new Error(`${program} was not started.`)));
  });
  // A caller that only waits for the end need not handle it.
  pid.catch(() => {});
  // If the shell was killed, its second process still waits for the channel.
  child.once("exit", () => channel.destroy());
  const left = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once(output === "pipe" ? "close" : "exit", (code: number | null) => resolve(code ?? 137));
  });
  const started = pid.then(identify, () => undefined);
  const ended = left.then(async (code) => {
    const program = await started;
    const deadline = Date.now() + 10_000;
    const isLeft = () => program !== undefined && isRunning(program);
    while (isLeft()) {
      if (Date.now() > deadline) signalProcess(program!.pid, "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { code, ...collected };
  });
  ended.catch(() => {});
  return {
    pid,
    ended,
    async stop(patienceMs) {
      channel.destroy();
      const late = setTimeout(() => {
        void started.then(
          (found) => found && isRunning(found) && signalProcess(found.pid, "SIGKILL"),
        );
      }, patienceMs);
      try {
        await ended;
      } finally {
        clearTimeout(late);
      }
    },
  };
}
