// Runs a program of a user in a process of its own. It does not block this process, which the program may
// need: the scripted model answers here.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

const longestMs = 120_000;

export async function runProgram(
  args: string[],
  environment: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: longestMs,
  });
  const [out, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on("close", resolve)),
  ]);
  return { code, output: out + errors };
}
