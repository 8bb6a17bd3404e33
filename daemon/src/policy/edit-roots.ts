// Changes the root lines of a policy file and nothing else in it: comments, order and other settings belong
// to the owner.
import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { parsePolicy, policyText } from "./policy.ts";

/** Makes the file as the installer does if it does not exist yet. */
export function addRoot(path: string, directory: string): void {
  checkWritable(directory);
  const text = read(path);
  if (text === undefined) return write(path, policyText([directory]));
  if (parsePolicy(text).roots.includes(directory)) return;
  const lines = text.split("\n");
  const last = lines.findLastIndex((line) => rootOf(line) !== undefined);
  const place = last >= 0 ? last + 1 : lines.findIndex((line) => !line.startsWith("#"));
  lines.splice(place < 0 ? lines.length : place, 0, `root = ${directory}`);
  write(path, lines.join("\n"));
}

/** Returns whether there was such a line. */
export function removeRoot(path: string, directory: string): boolean {
  const text = read(path) ?? "";
  const lines = text.split("\n");
  const kept = lines.filter((line) => rootOf(line) !== directory);
  if (kept.length === lines.length) return false;
  write(path, kept.join("\n"));
  return true;
}

/** The directory of a root line, as the policy reads it; undefined for other lines. */
function rootOf(line: string): string | undefined {
  if (!/^\s*root\b/.test(line)) return undefined;
  try {
    return parsePolicy(line).roots[0];
  } catch {
    return undefined;
  }
}

/** Refuses paths that cannot be written in the file's format: they would be read as another directory. */
function checkWritable(directory: string): void {
  const [read] = /[\r\n]/.test(directory) ? [] : parsePolicy(`root = ${directory}`).roots;
  if (read === directory) return;
  throw new Error(`The path ${JSON.stringify(directory)} cannot be written in a policy file.`);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces the file as a whole; if it is a link, replaces the file that it points to. */
function write(path: string, text: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const target = found ? realpathSync(path) : path;
  writeFileSync(`${target}.next`, text, { mode: found?.mode ?? 0o600 });
  renameSync(`${target}.next`, target);
}
