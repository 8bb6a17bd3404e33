// The tools that a script may call. They run in the session's directory, so that a test sees the changed
// files.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { UpdateOf } from "@hawser/contract";
import { childEnvironment } from "../../environment.ts";
import type { Call } from "./script.ts";

export interface ToolResult {
  output: string;
  failed: boolean;
}

type Kind = UpdateOf<"tool_call">["kind"];
const kinds: Record<string, Kind> = {
  bash: "execute",
  write: "edit",
  read: "read",
  task: "think",
  webfetch: "fetch",
};

export const kindOf = (tool: string): Kind => kinds[tool] ?? "other";

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export async function runTool(
  { tool, input }: Call,
  directory: string,
  signal: AbortSignal,
): Promise<ToolResult> {
  try {
    if (tool === "bash") return await runCommand(text(input["command"]), directory, signal);
    if (tool === "write") {
      const path = resolve(directory, text(input["filePath"]));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text(input["content"]));
      return { output: "Written.", failed: false };
    }
    if (tool === "read") {
      const path = resolve(directory, text(input["filePath"]));
      return { output: readFileSync(path, "utf8"), failed: false };
    }
  } catch (error) {
    return { output: error instanceof Error ? error.message : String(error), failed: true };
  }
  return { output: `There is no tool ${tool}.`, failed: true };
}

function runCommand(command: string, cwd: string, signal: AbortSignal): Promise<ToolResult> {
  return new Promise((done) => {
    const options = { cwd, signal, env: childEnvironment(), timeout: 60_000 };
    execFile("/bin/sh", ["-c", command], options, (error, stdout, stderr) => {
      done({ output: stdout + stderr, failed: error !== null });
    });
  });
}
