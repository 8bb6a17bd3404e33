// Finishes work that was left undone: endings that a host owes, as soon as the host is back; requests
// whose answer could not be delivered, which are offered again; and starts that a node left unfinished
// when it died.
import { randomUUID } from "node:crypto";
import { formatId } from "@hawser/contract";
import type { Viewers } from "../events/viewers.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import { inGroups } from "../postgres/in-groups.ts";
import { query } from "../postgres/statement.ts";
import { offerAgain } from "../requests/log-store.ts";
import * as store from "../sessions/owed-store.ts";

export interface OwedEndings {
  /** Call it when a host has said hello: asks the host for the endings that it owes. */
  hostIsBack(instanceId: string): Promise<void>;
  /** Run it on one node at a time. */
  sweep(): Promise<void>;
}

interface OwedParts {
  database: Pick<Database, "system" | "systemTransaction">;
  hosts: Pick<HostAsker, "ask">;
  viewers: Viewers;
  log: Log;
}

const actor = { type: "service", id: "owed_endings" };
const patienceMs = 30_000;

export function createOwedEndings({ database, hosts, viewers, log }: OwedParts): OwedEndings {
  const { system } = database;

  /** Looks up many hosts at once: thousands come back together, and hardly any owes anything. */
  const lookUp = inGroups(async (instanceIds: string[]) => {
    const [owed, offered] = await system.together(
      query(store.selectOwedBy, instanceIds),
      query(offerAgain, instanceIds),
    );
    for (const { organization_id, request_id } of offered)
      viewers.notify(organization_id, { requests: [formatId("request", request_id)] });
    const byInstance = Map.groupBy(owed, ({ instance_id }) => instance_id);
    return instanceIds.map((id) => byInstance.get(id) ?? []);
  });

  async function askForEnding(owed: store.OwedEnding): Promise<void> {
    const { organization_id, session_id, instance_id } = owed;
    const key = [organization_id, session_id];
    const sessionId = formatId("session", session_id);
    await system.rows(store.noteTried, ...key);
    try {
      const signal = AbortSignal.timeout(patienceMs);
      // Use a new command id each time: the same id would get the outcome of the last attempt again.
      const asking = { commandId: randomUUID(), actor, resumed: false, signal, isOnline: true };
      const instanceId = formatId("instance", instance_id);
      await hosts.ask(instanceId, "end_session", { sessionId }, asking);
    } catch (error) {
      log.info({ sessionId, err: error }, "an ending is still owed");
      return;
    }
    const ended = await database.systemTransaction(async (tx) => {
      const rows = await tx.rows(store.endOwed, ...key);
      tx.later(store.settleEnding, ...key);
      return rows;
    });
    if (ended.length > 0) viewers.notify(organization_id, { sessions: [sessionId] });
  }

  return {
    async hostIsBack(instanceId) {
      for (const owed of await lookUp(instanceId)) await askForEnding(owed);
    },
    async sweep() {
      const [lost, owed] = await system.together(
        query(store.giveUpStarts),
        query(store.selectOwedForLong),
      );
      for (const { organization_id, session_id } of lost)
        viewers.notify(organization_id, { sessions: [formatId("session", session_id)] });
      await Promise.all(owed.map(askForEnding));
    },
  };
}
