// Has connected hosts pin the command keys that are in use. A host that was away is asked when it is back.
import { randomUUID } from "node:crypto";
import { formatId } from "@hawser/contract";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import { notePinned, selectUnpinned } from "./host-key-store.ts";

export interface PinnedKeys {
  /** Asks every connected host that has not pinned these keys. Run it on one node at a time. */
  sweep(): Promise<void>;
}

interface PinnedKeysParts {
  database: Pick<Database, "system">;
  hosts: Pick<HostAsker, "ask">;
  /** The public keys that hosts are to pin. */
  keys: () => string[];
  log: Log;
}

const actor = { type: "service", id: "pinned_keys" };
const askedAtOnce = 20;
const patienceMs = 10_000;
/** A host that refuses, for example because its daemon is too old, is not asked at every sweep. */
const againAfterMs = 30_000;

export function createPinnedKeys({ database, hosts, keys, log }: PinnedKeysParts): PinnedKeys {
  const { system } = database;
  const failedAt = new Map<string, number>();
  let sweeping: Promise<void> | undefined;

  async function pin(publicKey: string, id: string, wanted: string[]): Promise<void> {
    const instanceId = formatId("instance", id);
    const signal = AbortSignal.timeout(patienceMs);
    const asking = { commandId: randomUUID(), actor, resumed: false, signal, isOnline: true };
    try {
      await hosts.ask(instanceId, "pin_command_keys", { keys: wanted }, asking);
      await system.rows(notePinned, publicKey, wanted);
      failedAt.delete(publicKey);
    } catch (error) {
      failedAt.set(publicKey, performance.now());
      log.warn({ instanceId, err: error }, "a host has not pinned the command keys");
    }
  }

  async function sweepOnce(): Promise<void> {
    const wanted = keys();
    const rows = await system.rows(selectUnpinned, wanted);
    const due = rows.filter(
      ({ public_key }) =>
        performance.now() - (failedAt.get(public_key) ?? -Infinity) > againAfterMs,
    );
    const worker = async () => {
      for (let row = due.pop(); row; row = due.pop())
        await pin(row.public_key, row.instance_id, wanted);
    };
    await Promise.all(Array.from({ length: askedAtOnce }, worker));
  }

  return {
    sweep: () => (sweeping ??= sweepOnce().finally(() => (sweeping = undefined))),
  };
}
