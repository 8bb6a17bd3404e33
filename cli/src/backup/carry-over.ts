// Brings files that are in no backup from the former data directory into the restored one: the directories of
// sessions, programs, logs and backups. Sessions know their directories by their paths, so a copy elsewhere
// would be useless to them. A file in the data directory says that this is still to be done, so that
// `hawser up` finishes it after a kill.
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "@hawser/daemon/state/state.ts";
import { sessionDirectories } from "./host-state.ts";

export const markerName = "restore-unfinished.json";

const carried = ["engines", "log", "backups", ...sessionDirectories.map((name) => `host/${name}`)];

/** No-op if nothing is to be done. Returns sentences about what was moved. */
export function carryOver(data: string): string[] {
  const marker = join(data, markerName);
  const from = readJson(marker)?.["from"];
  if (typeof from !== "string") return [];
  const moved: string[] = [];
  for (const name of carried) {
    if (!existsSync(join(from, name)) || existsSync(join(data, name))) continue;
    mkdirSync(join(data, name, ".."), { recursive: true, mode: 0o700 });
    renameSync(join(from, name), join(data, name));
    moved.push(name);
  }
  rmSync(marker);
  return moved.length > 0 ? [`Kept from the former data: ${moved.join(", ")}.`] : [];
}

export const describeCarrying = (data: string, from: string) =>
  `The former data is in ${from}; remove it when you no longer need it. Directories of sessions, programs and backups were moved from there to ${data}.`;
