// Removes challenges, sign-ins, waiting programs and phones, links and invitations that are over. Run it on one node at a time.
import type { SystemSql } from "../postgres/statement.ts";
import { removeAll } from "../purge.ts";
import { deleteOldDeviceLogins } from "./device-login-store.ts";
import { deleteOldLinks } from "./link-store.ts";
import { deleteSpentChallenges } from "./passkey-store.ts";
import { deleteOldDeviceSignIns } from "./phone-store.ts";
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
  await removeAll(accounts, deleteOldDeviceSignIns, signal);
  await removeAll(accounts, deleteOldSignIns, signal);
  await removeAll(accounts, deleteOldDeviceLogins, signal);
  await removeAll(accounts, deleteOldLinks, signal);
  await removeAll(system, deleteOldInvitations, signal);
}
