// Clearing up behind sessions: files that no prompt and no diff needs any more, and processes that belong to
// no session. orphans.ts decides which processes those are.
import type { Attachments } from "../attachments/attachments.ts";
import type { Driver } from "../drivers/driver.ts";
import { temporaryIn } from "../drivers/temporary-directories.ts";
import type { Identities } from "../identities/identities.ts";
import type { Journal } from "../journal/journal.ts";
import { describe, type Log } from "../log.ts";
import type { Checkouts } from "../worktrees/checkouts.ts";
import { removeOthers } from "../worktrees/remove-others.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import { placeToPark } from "./files.ts";
import { reapOrphans } from "./orphans.ts";
import type { Session } from "./session.ts";

export interface ReaperOptions {
  journal: Journal;
  stateDirectory: string;
  drivers: readonly Driver[];
  identities: Pick<Identities, "drivers" | "liveStarts">;
  attachments: Attachments;
  worktrees: Worktrees;
  checkouts: Checkouts;
  sessions: ReadonlyMap<string, Session>;
  closed: AbortSignal;
  log: Log;
}

export interface Reaper {
  /** One run after the other. The run that is waited for started after this call. */
  reap: () => Promise<void>;
  /** Resolves when no run is under way. */
  settled: () => Promise<void>;
}

export function createReaper(options: ReaperOptions): Reaper {
  const { worktrees, checkouts, closed, log } = options;
  const { driven } = options.journal;
  let last: Promise<void> = Promise.resolve();

  const liveStarts = () => [
    ...[...options.drivers, ...options.identities.drivers()].flatMap((driver) =>
      driver.liveStarts(),
    ),
    ...options.identities.liveStarts(),
    ...[...options.sessions.values()].flatMap(({ shells }) =>
      [...shells.values()].map(({ process }) => process.startId),
    ),
  ];

  function placeOf(realPath: string): "ended" | "parked" | undefined {
    const found = worktrees.placeOf(realPath);
    if (found?.isParked) return "parked";
    const place = found?.directory ?? checkouts.placeOf(realPath);
    if (place === undefined) return undefined;
    const session = driven.list().find((each) => placeToPark(each) === place);
    return !session || session.state === "ending" ? "ended" : undefined;
  }

  async function run(): Promise<void> {
    if (closed.aborted) return;
    const kept = driven.list().flatMap(({ sessionId }) => driven.prompts(sessionId));
    options.attachments.tidy(kept.flatMap(({ attachments = [] }) => attachments));
    const isDriven = (id: string) => driven.get(id) !== undefined;
    await attempt("baselines were not removed", () => worktrees.baselines.tidy(isDriven));
    await attempt("trusted files were not removed", () => worktrees.trustedFiles.tidy(isDriven));
    // A host without drivers has no processes. Looking for them takes longer the more the machine runs.
    if (options.drivers.length === 0) return;
    const { stateDirectory } = options;
    await attempt("processes were not checked", () =>
      reapOrphans({ stateDirectory, liveStarts, placeOf, log }),
    );
    // Read again for each directory, because an agent or a session may have started meanwhile.
    const isUsed = (id: string) => isDriven(id) || liveStarts().includes(id);
    await attempt("temporary files were not removed", () =>
      removeOthers(temporaryIn(stateDirectory), isUsed),
    );
  }

  async function attempt(failure: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      log.warn(failure, { error: describe(error) });
    }
  }

  return { reap: () => (last = last.then(run)), settled: () => last };
}
