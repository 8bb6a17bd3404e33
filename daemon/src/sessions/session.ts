// One session of this host. What must survive the daemon is in the journal and is read from there each
// time; an instance holds only what this process does for the session: who serves it, and what is
// under way. What may happen when is decided in may.ts.
import type { AgentKind, SessionUpdate } from "@hawser/contract";
import type { Attachments } from "../attachments/attachments.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady, type AgentSession, type Driver } from "../drivers/driver.ts";
import type { AgentGit } from "../git/agent-git.ts";
import type { Identities } from "../identities/identities.ts";
import type { DrivenSession, KeptPrompt } from "../journal/driven-sessions.ts";
import type { Journal } from "../journal/journal.ts";
import { describe, type Fields, type Log } from "../log.ts";
import { whyForbidden } from "../policy/forbidden.ts";
import type { Policy } from "../policy/policy.ts";
import type { Checkouts } from "../worktrees/checkouts.ts";
import type { Pushes } from "../worktrees/push.ts";
import type { Snapshot } from "../worktrees/snapshots.ts";
import type { Stillness } from "../worktrees/stillness.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { LiveLane } from "./live-lane.ts";
import { may, refuseUnless, type State, type Trigger } from "./may.ts";
import type { RunningShell } from "./shell-process.ts";
import { refusalOfStranger, type Person } from "./strangers.ts";

/** The parts of the host that all its sessions share. */
export interface HostParts {
  journal: Journal;
  stateDirectory: string;
  attachments: Attachments;
  /** With the logins of the host's user. */
  drivers: ReadonlyMap<AgentKind, Driver>;
  /** Accounts of people. */
  identities: Pick<Identities, "driver" | "drivers">;
  worktrees: Worktrees;
  checkouts: Checkouts;
  /** Whether sessions work in clones instead of worktrees, because another Unix user owns the repositories; default: no. */
  clonesRepositories?: boolean;
  pushes: Pushes;
  policy: () => Policy;
  agentGit: AgentGit;
  lane: LiveLane;
  /** The control plane's time in milliseconds. */
  now: () => number;
  log: Log;
  /** Restarts that are under way, by driver. */
  restarting: Map<Driver, Promise<unknown>>;
  /** Sessions in memory. */
  sessions: Map<string, Session>;
  /** Delivers the session's next prompt, if one waits and the session is free. */
  deliver: (session: Session) => void;
  /** Ends processes that belong to no session. */
  reap: () => Promise<void>;
  /** Aborted when the daemon stops: afterwards nothing is started or recorded. */
  closed: AbortSignal;
}

/** Who serves the session. */
type Serving =
  | { by: "none" }
  | { by: "attaching"; agent: Promise<AgentSession> }
  | { by: "attached"; agent: AgentSession; listener: AgentListener };

/** Receives the events of one agent session. */
export interface AgentListener {
  /** Records the events that were held back, and from then on each as it arrives. */
  begin(): void;
  /** Ignores all further events. */
  close(): void;
  isClosed(): boolean;
}

/** Work that can be stopped and waited for. */
export interface Stoppable {
  controller: AbortController;
  done: Promise<void>;
}

/** The running turn, as far as this process has to do with it. */
export interface TurnWork {
  turnId: string;
  /** The prompt is on its way to the agent. */
  delivery: Stoppable | undefined;
  isStopped: boolean;
  ended: PromiseWithResolvers<void>;
}

/** What this process does for the session; one thing at a time. */
type Work =
  | { type: "none" }
  | { type: "start"; start: Stoppable }
  | { type: "turn"; turn: TurnWork }
  | { type: "revert"; done: Promise<unknown> };

const addsWork = new Set<Trigger>(["prompt", "command", "summary", "shell"]);

export class Session {
  readonly id: string;
  readonly host: HostParts;
  serving: Serving = { by: "none" };
  work: Work = { type: "none" };
  /** The end of the session, shared by all who ask for it. */
  ending: Promise<void> | undefined;
  /** Delivers prompts one after the other; `isWoken` asks it to look at the queue again. */
  readonly delivery: {
    running: Promise<void> | undefined;
    isWoken: boolean;
    /** Wakes it when nobody edits the next prompt any more. */
    heldTimer: NodeJS.Timeout | undefined;
  } = { running: undefined, isWoken: false, heldTimer: undefined };
  /** Work on the files of the session's own tree runs in order. */
  readonly files: {
    last: Promise<unknown>;
    /** Most recent snapshot of the tree. */
    snapshot: Snapshot | undefined;
    /** Detects changes of files since the snapshot. */
    stillness: Stillness | undefined;
  } = { last: Promise.resolve(), snapshot: undefined, stillness: undefined };
  /** Answers on their way to the agent, by request. */
  readonly answering = new Map<string, Promise<unknown>>();
  /** Running shell commands by id, each with the moment its end is recorded. */
  readonly shells = new Map<string, { process: RunningShell; recorded: Promise<void> }>();

  constructor(host: HostParts, id: string) {
    this.host = host;
    this.id = id;
  }

  /** Returns undefined if the host has no such session, or no longer. */
  get record(): DrivenSession | undefined {
    return this.host.journal.driven.get(this.id);
  }

  /** In the order of delivery; a running turn comes first. */
  get prompts(): KeptPrompt[] {
    return this.host.journal.driven.prompts(this.id);
  }

  get runningTurn(): KeptPrompt | undefined {
    const [first] = this.prompts;
    return first?.state === "sent" ? first : undefined;
  }

  get turnId(): string | null {
    return this.runningTurn?.turnId ?? null;
  }

  get agent(): AgentSession | undefined {
    return this.serving.by === "attached" ? this.serving.agent : undefined;
  }

  /** The session has started and is not being ended. */
  get isUsable(): boolean {
    const state = this.record?.state;
    return state === "active" || state === "detached" || state === "error";
  }

  get state(): State {
    const record = this.record;
    if (!record) return "ended";
    if (record.state === "starting" || record.state === "ending") return record.state;
    const [first] = this.prompts;
    if (first?.state === "sent") {
      const turn = this.work.type === "turn" ? this.work.turn : undefined;
      if (turn?.isStopped) return "stopping";
      return turn?.delivery ? "delivering" : "running";
    }
    if (first) return "delivering";
    if (this.work.type === "revert") return "reverting";
    return record.shells?.length ? "shell" : "idle";
  }

  /** Throws the refusal if the trigger may not happen now, or if it adds work to a full journal. */
  require(trigger: Trigger): DrivenSession {
    if (addsWork.has(trigger) && this.isUsable) this.requireRoom();
    refuseUnless(this.state, trigger);
    return this.record!;
  }

  /**
   * Throws a refusal if the session uses an account of somebody else: a prompt spends the quota of that account,
   * and a command could read its login.
   */
  requireOwner(who: Person): void {
    const { record } = this;
    if (record?.ownerId === undefined || record.ownerId === who) return;
    throw refusalOfStranger(record, who);
  }

  /** Throws journal_full while the service is too far behind for more work. */
  requireRoom(): void {
    if (this.host.journal.log.acceptsTurns()) return;
    const message =
      "The host has recorded more than the service has stored so far. Try again when it has caught up.";
    throw new CommandRefusal("journal_full", message);
  }

  allows(trigger: Trigger): boolean {
    return may(this.state, trigger) === "allowed";
  }

  /** Throws AgentNotReady if the session's kind cannot run here, or if its account was unlinked. */
  get driver(): Driver {
    const { record, host } = this;
    if (!record) throw new AgentNotReady("The host no longer has this session.");
    const { kind, ownerId } = record;
    if (ownerId === undefined) return driverOf(host, kind);
    const forbidden = whyForbidden(host.policy(), kind, { usesOwnLogin: false });
    if (forbidden !== undefined) throw new AgentNotReady(forbidden);
    const driver = host.identities.driver(kind, ownerId);
    if (driver) return driver;
    throw new AgentNotReady(accountGone);
  }

  /** The same driver without checks; undefined if there is none. */
  get knownDriver(): Driver | undefined {
    const { record, host } = this;
    if (!record) return undefined;
    const { kind, ownerId } = record;
    return ownerId === undefined ? host.drivers.get(kind) : host.identities.driver(kind, ownerId);
  }

  /** Records that the session starts. If the daemon dies, the next one undoes what follows. */
  add(record: DrivenSession): void {
    this.host.journal.driven.add(record);
    this.host.sessions.set(this.id, this);
  }

  change(changes: Partial<Omit<DrivenSession, "sessionId">>): void {
    this.host.journal.driven.change(this.id, changes);
  }

  /** Drops the session from memory. No-op while the journal has it. */
  forget(): void {
    if (!this.record) this.host.sessions.delete(this.id);
  }

  /** Runs the work in one transaction of the journal, then what it left for afterwards. */
  commit<Result>(work: () => Result): Result {
    return this.host.journal.atOnce(work);
  }

  /** Within a commit: calls the function once the commit is on disk. */
  afterwards(followUp: () => void): void {
    this.host.journal.afterCommit(followUp);
  }

  /** Appends to the session's log. */
  note(update: SessionUpdate, turnId: string | null = null): void {
    this.host.journal.log.append(this.id, update, turnId);
  }

  /** Sets and logs the status. No-op if unchanged, and while the session starts or ends. */
  setStatus(
    status: "active" | "detached" | "error",
    code: "account_unlinked" | "agent_lost" | "agent_restarted" | "daemon_restarted" | null = null,
    reason: string | null = null,
  ): void {
    if (!this.isUsable || this.record!.state === status) return;
    this.change({ state: status });
    this.note({ sessionUpdate: "session_status", status, reason, code });
  }

  /** Delivers the next prompt, if one waits and the session is free. */
  wake(): void {
    this.host.deliver(this);
  }

  warn(event: string, error: unknown, fields: Fields = {}): void {
    this.host.log.warn(event, { sessionId: this.id, ...fields, error: describe(error) });
  }
}

/** The user's id in an owner's. */
export const userIn = (ownerId: string) => ownerId.split(".")[0]!;

export const accountGone =
  "The account that this session used was unlinked. To continue with another account, call fork_session.";

/** The account that a new session uses, and its driver. */
export interface ChosenAccount {
  driver: Driver;
  /** undefined for the login of the host's user. */
  ownerId: string | undefined;
}

/**
 * Chooses the account of a new session: that of the person who starts it, if they have linked one, or else the
 * login of the host's user. Throws AgentNotReady if the kind cannot run here.
 */
export function chooseAccount(
  host: HostParts,
  kind: AgentKind,
  ownerId: string | undefined,
): ChosenAccount {
  const driver = ownerId === undefined ? undefined : host.identities.driver(kind, ownerId);
  if (!driver) return { driver: driverOf(host, kind), ownerId: undefined };
  const forbidden = whyForbidden(host.policy(), kind, { usesOwnLogin: false });
  if (forbidden !== undefined) throw new AgentNotReady(forbidden);
  return { driver, ownerId };
}

/** The driver with the login of the host's user. Throws AgentNotReady if the kind cannot run here. */
export function driverOf(host: HostParts, kind: AgentKind): Driver {
  const forbidden = whyForbidden(host.policy(), kind);
  if (forbidden !== undefined) throw new AgentNotReady(forbidden);
  const driver = host.drivers.get(kind);
  if (driver) return driver;
  throw new AgentNotReady(`This daemon has no driver for ${kind}. Update it.`);
}
