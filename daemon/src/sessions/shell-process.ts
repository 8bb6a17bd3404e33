// One shell command as a process: in a group of its own, with what it writes kept up to a limit, ended at
// its deadline. Its text comes to the shell through a pipe, so that it is in no list of processes.
import { spawn } from "node:child_process";
import type { Environment } from "../environment.ts";

export interface ShellLimits {
  deadlineMs: number;
  /** Of what it writes, in characters; what comes after is left out. */
  longestOutput: number;
}

export interface ShellOptions {
  /** The shell's program. */
  shell: string;
  command: string;
  directory: string;
  environment: Environment;
  limits: ShellLimits;
  onOutput: (text: string, offset: number) => void;
}

export interface ShellEnd {
  /** Null when it did not end by itself. */
  exitCode: number | null;
  output: string;
  reason: string | null;
}

export interface RunningShell {
  /** HAWSER_AGENT of its processes. */
  startId: string;
  /** Ends it, by force when it has not gone in time. */
  end(reason: string): void;
  done: Promise<ShellEnd>;
}

const graceMs = 2_000;
/** For what is still in the pipe when the command has ended. */
const drainMs = 300;

// Both outputs in one, in their order. The pipe is closed before the command begins.
const wrapper = 'exec 2>&1\neval "exec 3<&-\n$(cat <&3)"';

export function startShell(startId: string, options: ShellOptions): RunningShell {
  const { shell, command, directory, environment, limits, onOutput } = options;
  const finished = Promise.withResolvers<ShellEnd>();
  const decoder = new TextDecoder();
  let output = "";
  let leftOut = 0;
  let reason: string | null = null;
  let force: NodeJS.Timeout | undefined;

  const child = spawn(shell, ["-c", wrapper], {
    cwd: directory,
    detached: true,
    env: environment,
    stdio: ["ignore", "pipe", "ignore", "pipe"],
  });
  const signalGroup = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // All of it has gone.
    }
  };

  const take = (text: string) => {
    const kept = text.slice(0, limits.longestOutput - output.length);
    leftOut += text.length - kept.length;
    if (kept === "") return;
    onOutput(kept, output.length);
    output += kept;
  };
  const pipe = child.stdout!;
  pipe.on("data", (piece: Buffer) => take(decoder.decode(piece, { stream: true })));
  pipe.on("error", () => {});
  const sent = child.stdio[3] as NodeJS.WritableStream;
  sent.on("error", () => {});
  sent.end(command);

  const end = (why: string) => {
    if (reason !== null) return;
    reason = why;
    signalGroup("SIGTERM");
    force = setTimeout(() => signalGroup("SIGKILL"), graceMs);
  };
  const deadline = setTimeout(
    () => end(`It ran for ${Math.round(limits.deadlineMs / 60_000)} minutes and was ended.`),
    limits.deadlineMs,
  );
  deadline.unref();

  let isSettled = false;
  const settle = (exitCode: number | null, why: string | null) => {
    if (isSettled) return;
    isSettled = true;
    clearTimeout(deadline);
    clearTimeout(force);
    // What it left behind in the background ends with it.
    signalGroup("SIGKILL");
    pipe.destroy();
    take(decoder.decode());
    const note = leftOut > 0 ? `${leftOut} characters of its output were left out.` : null;
    finished.resolve({ exitCode, output, reason: why ?? note });
  };
  child.once("error", (error: Error) => settle(null, `It could not be started: ${error.message}`));
  child.once("exit", (code, signal) => {
    const why = reason ?? (signal ? `It was ended by ${signal}.` : null);
    const exitCode = reason === null ? code : null;
    pipe.once("close", () => settle(exitCode, why));
    setTimeout(() => settle(exitCode, why), drainMs);
  });
  return { startId, end, done: finished.promise };
}
