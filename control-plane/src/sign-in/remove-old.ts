// Removes challenges, sign-ins and invitations that are over. Run it on one node at a time.
import type { SystemSql } from "../postgres/statement.ts";
import { removeAll } from "../purge.ts";
import { deleteSpentChallenges } from "./passkey-store.ts";
import { deleteOldInvitations, deleteOldSignIns } from "./store.ts";

interface Connections {
  accounts: SystemSql;
  system: SystemSql;
}

/** Stops between two statements when `signal` aborts; the next run continues. */
export async function removeOldSignIns(
  { accounts, system }: Connections,
  signal: AbortSignal,
): Promise<void> {
  await removeAll(accounts, deleteSpentChallenges, signal);
  await removeAll(accounts, deleteOldSignIns, signal);
  await removeAll(system, deleteOldInvitations, signal);
}
