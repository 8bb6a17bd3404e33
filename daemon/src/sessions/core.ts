// What the parts of the session layer share: the journal, the drivers, and what is in memory of a
// session. What must survive the daemon is only in the journal and is read there each time; in memory
// is who serves a session now and what is under way.
import type { AgentKind, SessionUpdate } from "@hawser/contract";
import { AgentNotReady, type AgentSession, type Driver } from "../drivers/driver.ts";
import type { Journal } from "../journal/journal.ts";
import type { DrivenSession, KeptPrompt } from "../journal/driven-sessions.ts";
import type { Log } from "../log.ts";
import type { Policy } from "../policy/policy.ts";
import type { Snapshot } from "../worktrees/snapshots.ts";
import type { Stillness } from "../worktrees/stillness.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { Checkouts } from "../worktrees/checkouts.ts";
import type { Pushes } from "../worktrees/push.ts";
import type { Attachments } from "../attachments/attachments.ts";
import type { LiveLane } from "./live-lane.ts";
import type { Listening } from "./listening.ts";
import type { RunningShell } from "./shell-process.ts";

/** What is under way for one session. */
export interface Live {
  /** Who serves it now. */
  agent?: AgentSession | undefined;
  listening?: Listening | undefined;
  attaching?: Promise<AgentSession> | undefined;
  /** The prompt that is on its way to the agent. */
  giving?: { controller: AbortController; done: Promise<void> } | undefined;
  pumping?: Promise<void> | undefined;
  isWoken?: boolean;
  /** The turn that somebody stops. */
  aborting?: string | undefined;
  ending?: Promise<void> | undefined;
  /** What is being done with the files of its worktree. */
  fileWork?: Promise<unknown> | undefined;
  /** Until it is over, no prompt is given and no shell command taken. */
  reverting?: Promise<unknown> | undefined;
  /** The last that was taken of them. */
  snapshot?: Snapshot | undefined;
  /** Whether they are still as that one has them. */
  stillness?: Stillness | undefined;
  /** A clone is being made for it. */
  starting?: { controller: AbortController; done: Promise<void> } | undefined;
  /** Called when a turn has ended. */
  waiters: Set<() => void>;
  /** Answers on their way to the agent, by request. */
  answering: Map<string, Promise<unknown>>;
  /** Shell commands that run, by their id; each with the moment it is on record. */
  shells: Map<string, { process: RunningShell; recorded: Promise<void> }>;
}

export interface Core {
  journal: Journal;
  stateDirectory: string;
  attachments: Attachments;
  drivers: ReadonlyMap<AgentKind, Driver>;
  worktrees: Worktrees;
  checkouts: Checkouts;
  pushes: Pushes;
  policy: () => Policy;
  lane: LiveLane;
  now: () => number;
  log: Log;
  live(sessionId: string): Live;
  /** Nothing is in memory of it any more. */
  forget(sessionId: string): void;
  /** A restart of a kind that is under way. */
  restarting: Map<AgentKind, Promise<unknown>>;
  /** Gives the next prompt, if there is one and it may be given. */
  wake(sessionId: string): void;
  /** Ends processes that nobody owns any more. */
  reap(): Promise<void>;
  /** Given when the daemon stops: from then on nothing is begun or recorded. */
  closed: AbortSignal;
}

/** Adds to the session's log. Within journal.atOnce, with everything else that is caused. */
export function note(
  core: Core,
  sessionId: string,
  update: SessionUpdate,
  turnId: string | null = null,
): void {
  core.journal.log.append(sessionId, update, turnId);
}

/** The turn that runs, if one does. */
export function runningTurn(core: Core, sessionId: string): KeptPrompt | undefined {
  const [first] = core.journal.driven.prompts(sessionId);
  return first?.state === "sent" ? first : undefined;
}

/** Throws AgentNotReady when the kind cannot be run here. */
export function driverOf(core: Core, kind: AgentKind): Driver {
  if (!core.policy().agents.has(kind)) {
    throw new AgentNotReady(`The host's policy file does not name ${kind} among its agents.`);
  }
  const driver = core.drivers.get(kind);
  if (driver) return driver;
  throw new AgentNotReady(`This daemon has no driver for ${kind}. Update it.`);
}

/** Files of the repository's own that the agent would run unasked. */
export class ProjectConfigPresent extends Error {
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    const named = paths.slice(0, 5).join(", ");
    super(
      `The directory has files that the agent would run unasked: ${named}. Remove them, or work in a worktree.`,
    );
    this.paths = paths;
  }
}

/** Throws ProjectConfigPresent, and says so in the session's log. */
export async function checkProjectConfig(
  core: Core,
  driver: Driver,
  { sessionId, directory }: Pick<DrivenSession, "sessionId" | "directory">,
): Promise<void> {
  const paths = await driver.findProjectConfig(directory);
  if (paths.length === 0) return;
  core.log.warn("a session's directory has configuration of its own", { sessionId });
  note(core, sessionId, { sessionUpdate: "config_ignored", paths });
  throw new ProjectConfigPresent(paths);
}

/** What a status that goes to the log is to be; nothing is written when it is that already. */
export function setStatus(
  core: Core,
  sessionId: string,
  status: "active" | "detached" | "error",
  reason: string | null,
): void {
  const session = core.journal.driven.get(sessionId);
  if (!session || session.state === status || !mayWork(session)) return;
  core.journal.driven.change(sessionId, { state: status });
  note(core, sessionId, { sessionUpdate: "session_status", status, reason });
}

/** Whether prompts may be given to it. */
export const mayWork = ({ state }: DrivenSession): boolean =>
  state === "active" || state === "detached" || state === "error";
