// Removes the agent accounts of members who have left from their hosts: right after the removal if the host
// is connected, else as soon as the host is back. The rows record what is owed, so a removal happens even if
// this node dies.
import { randomUUID } from "node:crypto";
import { formatId } from "@hawser/contract";
import type { MemberAccounts } from "../access/keys.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import { inGroups } from "../postgres/in-groups.ts";
import * as store from "./owed-store.ts";

export interface OwedRemovals extends MemberAccounts {
  /** Call it when a host has said hello: asks the host for the removals that it owes. */
  hostIsBack(instanceId: string): Promise<void>;
  /** Run it on one node at a time. */
  sweep(): Promise<void>;
}

interface OwedParts {
  database: Pick<Database, "system">;
  hosts: Pick<HostAsker, "ask">;
  log: Log;
}

const actor = { type: "service", id: "owed_removals" };
const patienceMs = 30_000;

export function createOwedRemovals({ database, hosts, log }: OwedParts): OwedRemovals {
  const { system } = database;

  /** Looks up many hosts at once: thousands come back together, and hardly any owes anything. */
  const lookUp = inGroups(async (instanceIds: string[]) => {
    const owed = await system.rows(store.selectOwedBy, instanceIds);
    const byInstance = Map.groupBy(owed, ({ instance_id }) => instance_id);
    return instanceIds.map((id) => byInstance.get(id) ?? []);
  });

  async function askForRemoval(owed: store.OwedRemoval): Promise<void> {
    const { organization_id, instance_id, owner_id: ownerId } = owed;
    const key = [organization_id, instance_id, ownerId];
    const tried = await system.first(store.noteTried, ...key);
    if (!tried) return;
    const instanceId = formatId("instance", instance_id);
    try {
      const signal = AbortSignal.timeout(patienceMs);
      // Use a new command id each time: the same id would get the outcome of the last attempt again.
      const asking = { commandId: randomUUID(), actor, resumed: false, signal, isOnline: true };
      await hosts.ask(instanceId, "unlink_identity", { ownerId, kind: null }, asking);
    } catch (error) {
      log.info({ instanceId, ownerId, err: error }, "a removal of agent accounts is still owed");
      return;
    }
    await system.rows(store.settleRemoval, ...key, tried.tried_at);
  }

  const askForAll = (owed: store.OwedRemoval[]) => Promise.all(owed.map(askForRemoval));

  return {
    remove(sql, userId) {
      const { organizationId } = sql;
      sql.later(store.oweRemovals, organizationId, userId);
      sql.afterCommit(() => {
        system
          .rows(store.selectOwedOf, organizationId, userId)
          .then(askForAll)
          // The sweep repeats it.
          .catch((error: unknown) => log.warn({ err: error }, "owed removals failed"));
      });
    },
    async hostIsBack(instanceId) {
      await askForAll(await lookUp(instanceId));
    },
    async sweep() {
      await askForAll(await system.rows(store.selectOwedForLong));
    },
  };
}
