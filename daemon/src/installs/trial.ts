// Runs a program for its version before it is put to use: it must start on this machine and be what the
// manifest says. It gets nothing of the daemon's environment, and a temporary home.
import { spawn } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { signalGroup } from "../signal-process.ts";
import { InstallRefused } from "./refused.ts";

const patienceMs = 30_000;
const mostOutput = 64 * 1024;

/** Throws InstallRefused if the program does not report this version. */
export async function tryProgram(
  program: string,
  version: string,
  home: string,
  signal: AbortSignal,
): Promise<void> {
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true });
  try {
    const said = await run(program, home, signal);
    const found = /\d+\.\d+\.\d+\S*/.exec(said)?.[0];
    if (found === version) return;
    throw refuse(`says that it is ${found ?? "no version at all"} instead of ${version}`);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

const refuse = (why: string, cause?: unknown) =>
  new InstallRefused("program_failed", `The program that was installed ${why}.`, { cause });

function run(program: string, home: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["--version"], {
      cwd: home,
      // A process group, so that everything it starts ends with it.
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
      env: { HOME: home, TMPDIR: home, PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" },
    });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      if (said.length < mostOutput) said += chunk.toString();
    });
    const end = () => signalGroup(child.pid, "SIGKILL");
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, patienceMs);
    signal.addEventListener("abort", end);
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      finish();
    };
    child.once("error", (error) =>
      settle(() => reject(refuse(`does not start: ${error.message}`, error))),
    );
    child.once("exit", end);
    child.once("close", (code, by) =>
      settle(() => {
        if (signal.aborted) return reject(signal.reason as Error);
        if (code === 0) return resolve(said);
        const how = by === null ? `ended with code ${code}` : `was ended by ${by}`;
        reject(refuse(isLate ? `did not say its version within ${patienceMs / 1000} s` : how));
      }),
    );
  });
}
