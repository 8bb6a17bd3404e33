// Removes a directory that a test has made. Every directory into which another process may write is
// removed here: a process that makes a file during the removal would make it fail.
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { relative } from "node:path";
import { endProcesses, processesIn } from "./processes.ts";

/** Ends every process that names the directory, waits for their end, and removes it. */
export function removeDirectory(directory: string): void {
  if (!relative(tmpdir(), directory).startsWith("hawser-")) {
    throw new Error(`No test has made ${directory}: it is not ${tmpdir()}/hawser-…`);
  }
  endProcesses(() => processesIn(directory));
  rmSync(directory, { recursive: true, force: true });
}
