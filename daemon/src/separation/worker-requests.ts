// What a worker may ask of the front. Agents may have taken the worker over, so it can only speak about the sessions
// and the person of its own user.
import type { HostOperation } from "@hawser/contract";
import { ReportReply, workerCalls, type WorkerCalls } from "@hawser/host-protocol";
import type { Log } from "../log.ts";
import type { WorkOptions } from "../work.ts";
import { blobHandlers } from "./pipe-lane.ts";
import type { Handler, Handlers } from "./pipe.ts";
import type { Places } from "./places.ts";

export interface WorkerRequestsOptions extends Pick<WorkOptions, "uplink" | "sealing" | "lane"> {
  user: string;
  places: Places;
  journalId: string;
  /** Where the worker's blobs are kept until they are sent. */
  scratchDirectory: string;
  /** The operations that the worker of each user has reported. */
  operations: Map<string, HostOperation[]>;
  refreshFacts: () => void;
  /** Logs no more than a few lines. */
  few: Log;
}

/** A worker makes the front read the facts again at most this often. */
const refreshMs = 1_000;
/** Characters of live text that one worker may publish in a second, and what each publication counts besides. */
const mostLive = 4 * 2 ** 20;
const publicationCharacters = 200;
/** Secrets that one worker may have opened in a second. Each takes the front some milliseconds, also a wrong one. */
const mostSecrets = 5;

export function createWorkerRequests(
  options: WorkerRequestsOptions,
): Handlers & { end: () => void } {
  const { user, places, uplink, operations, refreshFacts, few } = options;
  const mayPublish = createPace(mostLive);
  const mayUnseal = createPace(mostSecrets);
  let isRefreshing = false;
  const soonRefresh = () => {
    if (isRefreshing) return;
    isRefreshing = true;
    setTimeout(() => ((isRefreshing = false), refreshFacts()), refreshMs).unref();
  };

  function refuseOthers(sessions: readonly { sessionId: string }[]): void {
    const other = sessions.find(({ sessionId }) => places.userOfSession(sessionId) !== user);
    if (!other) return;
    few.warn("a worker spoke about a session of another one", {
      user,
      sessionId: other.sessionId,
    });
    throw new Error("This session belongs to another Unix user of this host.");
  }

  const calls: { [Name in keyof WorkerCalls]: (body: WorkerCalls[Name]) => unknown } = {
    report({ sessions }) {
      refuseOthers(sessions);
      return uplink.ask("report", { journalId: options.journalId, sessions }, ReportReply);
    },
    introduce({ sessions }) {
      refuseOthers(sessions);
      return uplink.introduce(sessions);
    },
    publish({ sessionId, text }) {
      refuseOthers([{ sessionId }]);
      // A publication may be lost. Those that a slow link does not take would wait in memory.
      const characters = text.text.length + text.itemId.length + publicationCharacters;
      if (mayPublish(characters)) uplink.publish(sessionId, text);
    },
    unseal(wanted) {
      if (places.userOfOwner(wanted.ownerId) !== user) {
        throw new Error("This secret is another person's.");
      }
      if (!mayUnseal(1)) throw new Error("Too many secrets are opened at once. Try again.");
      return options.sealing.open(wanted);
    },
    sealing_key: () => options.sealing.publicKey(),
    operations(body) {
      operations.set(user, body.operations);
      uplink.factsChanged();
    },
    facts_changed: soonRefresh,
  };
  const handlers = Object.entries(calls).map(([name, call]): [string, Handler] => [
    name,
    (body) => call(workerCalls[name as keyof WorkerCalls].parse(body) as never),
  ]);
  const blobs = blobHandlers(options.lane, options.scratchDirectory);
  return {
    ...Object.fromEntries(handlers),
    ...blobs,
    end() {
      blobs.end();
      if (operations.delete(user)) uplink.factsChanged();
    },
  };
}

/** Whether so much more fits into the present second. */
function createPace(most: number): (amount: number) => boolean {
  let second = { since: -Infinity, amount: 0 };
  return (amount) => {
    const now = performance.now();
    if (now - second.since > 1_000) second = { since: now, amount: 0 };
    second.amount += amount;
    return second.amount <= most;
  };
}
