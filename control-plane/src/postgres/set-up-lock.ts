// Lets one process at a time set a service up. It writes files that belong to rows, and two processes would
// replace each other's.
import type { Database, SystemTransaction } from "./database.ts";
import { systemStatement } from "./statement.ts";

const lockKey = 0x4a57_5347; // any number that migrate and init-database do not use
const lockSetUp = systemStatement(
  "let one process at a time set the service up",
  `SELECT pg_advisory_xact_lock($1)`,
);

/** Runs `work` in a transaction, while no other process is in such a transaction. */
export function setUpAlone<T>(
  database: Pick<Database, "systemTransaction">,
  work: (tx: SystemTransaction) => Promise<T>,
): Promise<T> {
  return database.systemTransaction(async (tx) => {
    await tx.rows(lockSetUp, lockKey);
    return work(tx);
  });
}
