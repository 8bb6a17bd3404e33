// The record beside a parked worktree or clone: where it was, and what a session that is restored from it
// needs to know. It never leaves the host.
import { join } from "node:path";
import type { AgentKind, AgentPolicy, ModelChoice } from "@hawser/contract";
import { readSmallFile } from "../directories/handle.ts";
import type { OwnCheckout } from "../journal/driven-sessions.ts";

export interface ParkedSession {
  kind: AgentKind;
  title: string | null;
  /** The directory it was started in, as callers name it. */
  startedIn: string;
  model: ModelChoice | null;
  options: Record<string, string>;
  policy: AgentPolicy;
  baseCommit: string | null;
  /** The address and branch that it pushes to: a restored session uses the same, whatever an agent changed. */
  origin?: string | null;
  pushBranch?: string;
  /** Its clone; undefined if it had a worktree. */
  checkout?: OwnCheckout;
}

export interface ParkedRecord {
  /** This and the next three are null for a clone, which contains all of them itself. */
  repository: string | null;
  branch: string | null;
  /** The commit of its branch. */
  branchTip: string | null;
  adminDirectory: string | null;
  /** Where its tree was: the worktree, or the directory around the clone. */
  worktree: string;
  session: ParkedSession | null;
  /** In milliseconds, by the control plane's clock. */
  parkedAt: number;
}

export const recordName = "parked.json";
const largestRecord = 256 * 1024;

/** undefined if there is no record. */
export function readParked(directory: string): ParkedRecord | undefined {
  const text = readSmallFile(join(directory, recordName), largestRecord);
  return text === undefined ? undefined : (JSON.parse(text) as ParkedRecord);
}
