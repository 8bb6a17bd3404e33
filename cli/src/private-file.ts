// JSON files in the data directory that only this user can read.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "./command-failed.ts";

/** undefined if there is no such file. `advice`: what to do about a damaged one. */
export function readPrivate(file: string, advice: string): unknown {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new CommandFailed(`${file} is damaged (${(error as Error).message}). ${advice}`);
  }
}

/** Replaces the file in one step, so that a killed process leaves the old or the new one. */
export function writePrivate(directory: string, name: string, content: object): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  const file = join(directory, name);
  writeFileSync(`${file}.next`, `${JSON.stringify(content, undefined, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
  renameSync(`${file}.next`, file);
}
