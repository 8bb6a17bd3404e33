// The version of an agent that is in use: a small file per kind, replaced atomically. The directory that it
// names is complete and was tried; other directories are the previous version, or left over.
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import { replaceFile } from "../state/replace-file.ts";

export interface Current {
  version: string;
  /** Name of its directory, beside this file. */
  directory: string;
  /** Path within the directory. */
  program: string;
  programSize: number;
  /** Hashes of the packages it was made of. */
  packages: string[];
  /** Directory of the previous version. */
  previous: string | null;
}

const fileOf = (agents: string, kind: AgentKind) => join(agents, kind, "current.json");

/** undefined if the kind was never installed, or the file is damaged. */
export function readCurrent(agents: string, kind: AgentKind): Current | undefined {
  try {
    const found = JSON.parse(readFileSync(fileOf(agents, kind), "utf8")) as Current;
    return typeof found.program === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}

/** From this moment the new version is the one in use. */
export function writeCurrent(agents: string, kind: AgentKind, current: Current): void {
  // Workers of other Unix users read it.
  replaceFile(fileOf(agents, kind), current, 0o644);
}

export const programOf = (agents: string, kind: AgentKind, current: Current): string =>
  join(agents, kind, current.directory, current.program);

/** Whether the program is still there, as it was when it was tried. */
export function isWhole(agents: string, kind: AgentKind, current: Current): boolean {
  const found = statSync(programOf(agents, kind, current), { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === current.programSize && (found.mode & 0o100) > 0;
}

/** The version in use; undefined if there is none, or if it is not complete. */
export function findInstalled(
  agents: string,
  kind: AgentKind,
): { path: string; version: string } | undefined {
  const current = readCurrent(agents, kind);
  if (!current || !isWhole(agents, kind, current)) return undefined;
  return { path: programOf(agents, kind, current), version: current.version };
}

/** Removes everything except the version in use, the previous one, and these downloads. */
export function removeOthers(
  agents: string,
  kind: AgentKind,
  downloads: readonly string[] | "all downloads" = [],
): void {
  const own = join(agents, kind);
  if (!existsSync(own)) return;
  const current = readCurrent(agents, kind);
  const keep = ["current.json", current?.directory, current?.previous];
  for (const name of readdirSync(own)) {
    const isKept = downloads === "all downloads" ? name.endsWith(".tgz") : downloads.includes(name);
    if (!isKept && !keep.includes(name)) rmSync(join(own, name), { recursive: true, force: true });
  }
}
