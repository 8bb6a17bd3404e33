// The record of updates on disk: the highest version that has served here, below which no update goes, and
// why the last update failed, until one succeeds.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isNewer } from "@hawser/host-protocol";
import { replaceFile } from "../state/replace-file.ts";

export interface UpdateFailure {
  version: string;
  reason: string;
}

interface UpdateRecord {
  highest?: string;
  failed?: UpdateFailure;
}

const pathOf = (directory: string) => join(directory, "updates.json");

/** A missing or damaged record is empty: then only the running version counts. */
export function readUpdates(directory: string): UpdateRecord {
  try {
    return JSON.parse(readFileSync(pathOf(directory), "utf8")) as UpdateRecord;
  } catch {
    return {};
  }
}

/** Records that this version has been online. */
export function noteServed(directory: string, version: string): void {
  const record = readUpdates(directory);
  if (record.highest && !isNewer(version, record.highest)) return;
  replaceFile(pathOf(directory), { ...record, highest: version });
}

export function noteFailure(directory: string, failed: UpdateFailure): void {
  replaceFile(pathOf(directory), { ...readUpdates(directory), failed });
}

export function clearFailure(directory: string): void {
  const { failed, ...rest } = readUpdates(directory);
  if (failed) replaceFile(pathOf(directory), rest);
}
