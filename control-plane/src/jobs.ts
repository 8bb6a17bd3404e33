// Jobs: work that one node does for all, at its intervals. Each job has a row with its own lease, so a job
// that hangs does not delay the others (decision 0046).
//
// Guarantee: no two nodes start the same run. A node that stops in the middle of a run loses its lease,
// and the job runs again when its next time comes, on any node.
import type { Log } from "./log.ts";
import { query, systemStatement, type SystemSql } from "./postgres/statement.ts";

export interface Job {
  name: string;
  /** Time from one start to the next. A run that takes longer delays the next one. */
  everySeconds: number;
  /** False while this node cannot run the job; another node may. By default true. */
  isAble?: () => boolean;
  /** `signal` aborts if the run takes too long, if another node has the lease, or if the node stops. */
  run(signal: AbortSignal): Promise<unknown>;
}

export interface Jobs {
  /** Starts no more runs, aborts those that run, and waits for them briefly. */
  close(): Promise<void>;
}

const longestLeaseSeconds = 30;
const longestRunMs = 10 * 60_000;
const longestWaitMs = 60_000;
const shortestWaitMs = 500;
/** Nodes ask for a job at different moments, so that most find that another node has it. */
const mostJitterMs = 1_000;
const longestCloseMs = 2_000;

const insertJobs = systemStatement(
  "add the jobs that the database does not know",
  `INSERT INTO jobs (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING`,
);

const lease = (everySeconds: string) =>
  `make_interval(secs => least(${everySeconds}, ${longestLeaseSeconds}))`;

/**
 * $1 node, $2 jobs, $3 their intervals in seconds. A time that lies further ahead than a run can set it is
 * due too: the clock was set back.
 */
const claimDue = systemStatement<{ name: string; fence: number }>(
  "claim the jobs that are due",
  `UPDATE jobs j
      SET holder = $1, fence = j.fence + 1, lease_until = hawser_now() + ${lease("due.every_seconds")},
          due_at = hawser_now() + make_interval(secs => due.every_seconds)
     FROM (SELECT known.name, able.every_seconds
             FROM unnest($2::text[], $3::float8[]) AS able (name, every_seconds)
             JOIN jobs known ON known.name = able.name
            WHERE known.due_at NOT BETWEEN hawser_now() AND hawser_now() + make_interval(secs => every_seconds)
              AND known.lease_until NOT BETWEEN hawser_now() AND hawser_now() + ${lease("every_seconds")}
            ORDER BY known.name
              FOR UPDATE OF known SKIP LOCKED) due
    WHERE j.name = due.name
   RETURNING j.name, j.fence`,
);

/** $1 jobs. */
const selectNextDue = systemStatement<{ seconds: number | null }>(
  "read how long it takes until the next job is due",
  `SELECT extract(epoch FROM min(greatest(due_at, lease_until)) - hawser_now())::float8 AS seconds
     FROM jobs WHERE name = ANY ($1::text[])`,
);

/** $1 job, $2 fence, $3 its interval in seconds. Returns a row if this fence still has the lease. */
const renewLease = systemStatement<{ name: string }>(
  "renew the lease of a job",
  `UPDATE jobs SET lease_until = hawser_now() + ${lease("$3::float8")}
    WHERE name = $1 AND fence = $2 RETURNING name`,
);

interface JobsParts {
  system: SystemSql;
  nodeId: string;
  jobs: readonly Job[];
  log: Log;
}

/** Runs the jobs that are due, from now on. Needs one transaction for each time that a job is due. */
export function startJobs({ system, nodeId, jobs, log }: JobsParts): Jobs {
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  let areInserted = false;
  let timer = setTimeout(() => void poll(), 0);

  async function poll(): Promise<void> {
    const waitMs = await startDue().catch((error: unknown) => {
      log.warn({ err: error }, "jobs could not be claimed");
      return longestWaitMs / 10;
    });
    if (closing.signal.aborted) return;
    const nextMs = Math.min(Math.max(waitMs, shortestWaitMs), longestWaitMs);
    timer = setTimeout(() => void poll(), nextMs + Math.random() * mostJitterMs);
  }

  /** Returns the time until the next job is due. */
  async function startDue(): Promise<number> {
    if (!areInserted) {
      await system.rows(
        insertJobs,
        jobs.map(({ name }) => name),
      );
      areInserted = true;
    }
    const able = jobs.filter(({ isAble }) => isAble?.() ?? true);
    const names = able.map(({ name }) => name);
    const intervals = able.map(({ everySeconds }) => everySeconds);
    const [claimed, [next]] = await system.together(
      query(claimDue, nodeId, names, intervals),
      query(selectNextDue, names),
    );
    for (const { name, fence } of claimed) {
      const job = able.find((each) => each.name === name)!;
      const run = runOnce(job, fence).finally(() => running.delete(run));
      running.add(run);
    }
    return (next?.seconds ?? Infinity) * 1000;
  }

  async function runOnce(job: Job, fence: number): Promise<void> {
    const { name, everySeconds } = job;
    const lost = new AbortController();
    const signal = AbortSignal.any([
      closing.signal,
      lost.signal,
      AbortSignal.timeout(longestRunMs),
    ]);
    const renew = async () => {
      if (!(await system.first(renewLease, name, fence, everySeconds))) lost.abort();
    };
    // A failed renewal is repeated by the next one; three fit into a lease.
    const renewEveryMs = (Math.min(everySeconds, longestLeaseSeconds) * 1000) / 4;
    const renewing = setInterval(() => void renew().catch(() => {}), renewEveryMs);
    signal.addEventListener("abort", () => clearInterval(renewing));
    try {
      await job.run(signal);
    } catch (error) {
      log.warn({ err: error, job: name }, "a job failed");
    } finally {
      clearInterval(renewing);
    }
  }

  return {
    async close() {
      closing.abort();
      clearTimeout(timer);
      const patience = new Promise((resolve) => setTimeout(resolve, longestCloseMs).unref());
      await Promise.race([Promise.allSettled(running), patience]);
    },
  };
}
