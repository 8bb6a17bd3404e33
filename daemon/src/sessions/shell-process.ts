// One shell command as a process group: its output is kept up to a limit, and it is ended at its
// deadline. The shell reads the command from a pipe, so that no list of processes shows its text.
import { spawn } from "node:child_process";
import type { Environment } from "../environment.ts";
import { signalGroup } from "../signal-process.ts";

export interface ShellLimits {
  deadlineMs: number;
  /** In characters; output beyond it is dropped. */
  longestOutput: number;
}

export interface ShellOptions {
  /** Path of the shell program. */
  shell: string;
  command: string;
  directory: string;
  environment: Environment;
  limits: ShellLimits;
  onOutput: (text: string, offset: number) => void;
}

export interface ShellEnd {
  /** Null if the command did not end by itself. */
  exitCode: number | null;
  output: string;
  reason: string | null;
}

export interface RunningShell {
  /** The mark (HAWSER_AGENT) of its processes. */
  startId: string;
  /** Ends the process group, by SIGKILL if SIGTERM does not help in time. */
  end(reason: string): void;
  done: Promise<ShellEnd>;
}

const graceMs = 2_000;
/** For output that is still in the pipe when the command has ended. */
const drainMs = 300;

// stdout and stderr are one stream, in their order. The pipe is closed before the command starts.
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

  const keep = (text: string) => {
    const kept = text.slice(0, limits.longestOutput - output.length);
    leftOut += text.length - kept.length;
    if (kept === "") return;
    onOutput(kept, output.length);
    output += kept;
  };
  const pipe = child.stdout!;
  pipe.on("data", (piece: Buffer) => keep(decoder.decode(piece, { stream: true })));
  pipe.on("error", () => {});
  const sent = child.stdio[3] as NodeJS.WritableStream;
  sent.on("error", () => {});
  sent.end(command);

  const end = (why: string) => {
    if (reason !== null) return;
    reason = why;
    signalGroup(child.pid, "SIGTERM");
    force = setTimeout(() => signalGroup(child.pid, "SIGKILL"), graceMs);
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
    // Ends what the command left in the background.
    signalGroup(child.pid, "SIGKILL");
    pipe.destroy();
    keep(decoder.decode());
    const note = leftOut > 0 ? `${leftOut} characters of its output were dropped.` : null;
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
