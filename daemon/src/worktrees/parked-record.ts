// What is written beside a worktree or a clone that was put aside: where it came from, and what a session
// that is made of it again is to know. It never leaves the host.
import { join } from "node:path";
import type { AgentKind, AgentPolicy, ModelChoice } from "@hawser/contract";
import { readSmallFile } from "../directories/handle.ts";
import type { OwnCheckout } from "../journal/driven-sessions.ts";

export interface ParkedSession {
  kind: AgentKind;
  title: string | null;
  /** Where it was started, as callers name it. */
  startedIn: string;
  model: ModelChoice | null;
  options: Record<string, string>;
  policy: AgentPolicy;
  baseCommit: string | null;
  /** Where it pushes to, and by which name, when it has: the same again, whatever an agent changed. */
  origin?: string | null;
  pushBranch?: string;
  /** The clone it worked in, when it was that and no worktree. */
  checkout?: OwnCheckout;
}

export interface ParkedRecord {
  /** This and the next three are null for a clone, which holds all of it itself. */
  repository: string | null;
  branch: string | null;
  /** Where the branch was. */
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

/** Nothing when there is none. */
export function readParked(directory: string): ParkedRecord | undefined {
  const text = readSmallFile(join(directory, recordName), largestRecord);
  return text === undefined ? undefined : (JSON.parse(text) as ParkedRecord);
}
