// Brings connected hosts to the keys that are in use: has them pin the command keys, and renew a token that
// another key has signed. A host that was away is asked when it is back.
import { randomUUID } from "node:crypto";
import { formatId } from "@hawser/contract";
import type { HostCommand, PayloadOf } from "@hawser/host-protocol";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import { query, type SystemStatement } from "../postgres/statement.ts";
import {
  notePinned,
  pinnedKeys,
  planForValues,
  selectFormerTokens,
  selectUnpinned,
} from "./host-key-store.ts";

export interface KnownKeys {
  /** Asks every connected host that needs it. Run it on one node at a time. */
  sweep(): Promise<void>;
}

interface KnownKeysParts {
  database: Pick<Database, "system">;
  hosts: Pick<HostAsker, "ask">;
  /** The public keys that hosts are to pin. */
  commandKeys: () => string[];
  /** The public key that signs host tokens. */
  tokenSigner: () => string;
  log: Log;
}

type HostRow = { public_key: string; instance_id: string };

const actor = { type: "service", id: "known_keys" };
const askedAtOnce = 20;
const patienceMs = 10_000;
/** A host that refuses, for example because its daemon is too old, is not asked at every sweep. */
const againAfterMs = 30_000;

export function createKnownKeys(parts: KnownKeysParts): KnownKeys {
  const { hosts, log } = parts;
  const { system } = parts.database;
  let sweeping: Promise<void> | undefined;

  async function ask<Name extends HostCommand>(
    { instance_id }: HostRow,
    command: Name,
    payload: PayloadOf<Name>,
  ): Promise<boolean> {
    const instanceId = formatId("instance", instance_id);
    const signal = AbortSignal.timeout(patienceMs);
    const asking = { commandId: randomUUID(), actor, resumed: false, signal, isOnline: true };
    try {
      await hosts.ask(instanceId, command, payload, asking);
      return true;
    } catch (error) {
      log.warn({ instanceId, command, err: error }, "a host does not know the newest keys");
      return false;
    }
  }

  /** Asks some hosts at a time, and each again only after a while. */
  function inTurns(askOne: (row: HostRow) => Promise<void>): (rows: HostRow[]) => Promise<void> {
    const askedAt = new Map<string, number>();
    return async (rows) => {
      const since = performance.now() - againAfterMs;
      for (const [key, at] of askedAt) if (at < since) askedAt.delete(key);
      const due = rows.filter(({ public_key }) => !askedAt.has(public_key));
      const worker = async () => {
        for (let row = due.pop(); row; row = due.pop()) {
          askedAt.set(row.public_key, performance.now());
          await askOne(row);
        }
      };
      await Promise.all(Array.from({ length: askedAtOnce }, worker));
    };
  }

  let wanted: string[] = [];
  let pinAll = inTurns(pin);
  const renewAll = inTurns(async (row) => void (await ask(row, "renew_token", {})));

  async function pin(row: HostRow): Promise<void> {
    const keys = wanted;
    if (await ask(row, "pin_command_keys", { keys })) {
      await system.rows(notePinned, row.public_key, pinnedKeys(keys));
    }
  }

  async function find(hostsBehind: SystemStatement<HostRow>, current: string): Promise<HostRow[]> {
    const [, rows] = await system.together(query(planForValues), query(hostsBehind, current));
    return rows;
  }

  async function sweepOnce(): Promise<void> {
    const keys = parts.commandKeys();
    // After a change every host is asked at once.
    if (keys.join() !== wanted.join()) pinAll = inTurns(pin);
    wanted = keys;
    await pinAll(await find(selectUnpinned, pinnedKeys(keys)));
    await renewAll(await find(selectFormerTokens, parts.tokenSigner()));
  }

  return {
    sweep: () => (sweeping ??= sweepOnce().finally(() => (sweeping = undefined))),
  };
}
