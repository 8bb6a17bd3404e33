// The answer to a host that is not found among the paired ones. A record of its removal is signed, as the
// proof with which the host deletes its credentials. Without any record the host is answered "unknown, ask
// later": after a restored backup, a fail-over or with a faulty query, a missing record proves nothing.
import { formatId } from "@hawser/contract";
import { signForgetProof, type Forget, type Refused } from "@hawser/host-protocol";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import type { FabricKeys } from "../fabric/fabric-keys.ts";
import type { Log } from "../log.ts";
import { readInGroups } from "../postgres/in-groups.ts";
import type { SystemSql } from "../postgres/statement.ts";
import {
  selectRemovedHostsOfInstances,
  selectRemovedKeys,
  type RemovedHost,
} from "./host-key-store.ts";

export interface RemovedHosts {
  /** Answers the host that has proven this key. */
  answerKey(publicKey: string): Promise<Forget | Refused>;
  /** Answers the host that calls for this instance. The proof is for the instance's last host. */
  answerInstance(instanceId: string): Promise<Forget | Refused>;
}

interface RemovedHostsParts {
  system: SystemSql;
  /** Read at each use: a rotation changes them. */
  keys: Pick<FabricKeys, "commandKey" | "secondCommandKey">;
  now?: () => number;
  /** Called for each answer to a host of which there is no record. */
  countUnknown: () => void;
  log: Log;
}

/** The shortest wait. Daemons wait longer with each further answer of this kind. */
const unknownHost: Refused = { refused: "unknown_host", retryAfterMs: 1_000 };
/** Log lines about unknown hosts: one in ten seconds, however many hosts there are. */
const warningRate = { perSecond: 1 / 10, burst: 1 };

export function createRemovedHosts(parts: RemovedHostsParts): RemovedHosts {
  const { system, keys, now = Date.now, countUnknown, log } = parts;
  const warnings = createTokenBuckets(warningRate);

  const findByKey = readInGroups(async (publicKeys: string[]) => {
    const rows = await system.rows(selectRemovedKeys, publicKeys);
    const found = new Map(rows.map((row) => [row.public_key, row]));
    return publicKeys.map((key) => found.get(key));
  });
  const findByInstance = readInGroups(async (instanceIds: string[]) => {
    const rows = await system.rows(selectRemovedHostsOfInstances, instanceIds);
    const found = new Map(rows.map((row) => [row.instance_id, row]));
    return instanceIds.map((id) => found.get(id));
  });

  function answer(removed: RemovedHost | undefined, asked: object): Forget | Refused {
    if (!removed) {
      countUnknown();
      if (warnings.take("").retryAfterMs === undefined) {
        log.warn(
          asked,
          "a host has no record, neither paired nor removed; it is answered to ask later",
        );
      }
      return unknownHost;
    }
    const instanceId = formatId("instance", removed.instance_id);
    const privateKeys = [keys.commandKey, keys.secondCommandKey ?? []].flat();
    const proof = signForgetProof(
      privateKeys.map(({ privateKey }) => privateKey),
      { instanceId, hostKey: removed.public_key },
      now(),
    );
    return { forget: true, proof };
  }

  return {
    answerKey: async (publicKey) => answer(await findByKey(publicKey), { publicKey }),
    answerInstance: async (id) =>
      answer(await findByInstance(id), { instanceId: formatId("instance", id) }),
  };
}
