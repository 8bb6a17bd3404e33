// The rows that this node works on. Each has a lease in the database, which is renewed while the work lasts. If the
// node dies, the leases end, and another node continues.
import type { Log } from "../log.ts";

export interface HeldWork<Row> extends Disposable {
  rows(): Row[];
  /** Begins to work on a row whose lease this node has. */
  hold(row: Row): void;
  /** Ends when the work on all rows has ended. */
  settled(): Promise<void>;
}

export interface HeldWorkOptions<Row> {
  /** What the rows are, for the log. */
  name: string;
  /** If it throws, the lease ends soon, and then a node picks the row up again. */
  work: (row: Row) => Promise<void>;
  renew: (rows: Row[]) => Promise<unknown>;
  /** The row's ids, for the log: a whole row may contain a prompt. */
  idsOf: (row: Row) => object;
  log: Log;
}

/** Three renewals fit into a lease of 15 seconds. */
const renewEveryMs = 4_000;

export function createHeldWork<Row extends object>(options: HeldWorkOptions<Row>): HeldWork<Row> {
  const { name, log } = options;
  const held = new Map<Row, Promise<void>>();
  const renewing = setInterval(() => void renew(), renewEveryMs);

  async function work(row: Row): Promise<void> {
    try {
      await options.work(row);
    } catch (error) {
      log.warn({ err: error, ...options.idsOf(row) }, `the work on ${name} failed`);
    } finally {
      held.delete(row);
    }
  }

  async function renew(): Promise<void> {
    if (held.size === 0) return;
    try {
      await options.renew([...held.keys()]);
    } catch (error) {
      log.warn({ err: error }, `the leases of ${name} were not renewed; it is tried again`);
    }
  }

  return {
    rows: () => [...held.keys()],
    hold(row) {
      held.set(row, work(row));
    },
    async settled() {
      await Promise.allSettled(held.values());
    },
    [Symbol.dispose]: () => clearInterval(renewing),
  };
}
