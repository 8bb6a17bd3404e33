// Host identities of the control plane on a real database: instances, pairing tokens, paired hosts and their
// keys. The clock of nonces is set by the test.
import { randomBytes } from "node:crypto";
import { formatId, parseId } from "@hawser/contract";
import { makeFabricKeys } from "@hawser/control-plane/fabric/fabric-keys.ts";
import { createHostTokens } from "@hawser/control-plane/fabric/host-token.ts";
import {
  createNonces,
  pairHost,
  renewHost,
  revokeHostKeys,
  type HostIdentity,
} from "@hawser/control-plane/instances/host-identity.ts";
import { issuePairingToken } from "@hawser/control-plane/instances/pairing.ts";
import { createRemovedHosts } from "@hawser/control-plane/instances/removed-hosts.ts";
import {
  deleteInstance,
  insertInstance,
  revokePairingTokens,
} from "@hawser/control-plane/instances/store.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import {
  isForgetProven,
  makeNkey,
  makeRenewRequest,
  type Nkey,
  type RenewReply,
} from "@hawser/host-protocol";
import { moveClock } from "./clock.ts";
import { createTestOrganization } from "./organization.ts";
import { ownerSql } from "./owner-sql.ts";
import { openServiceDatabase } from "./service-database.ts";

interface KeyRow {
  machine_id: string;
  token_expires_at: Date;
  revoked: boolean;
}

export type IdentityBed = Awaited<ReturnType<typeof openIdentityBed>>;

export async function openIdentityBed() {
  const lifetimeSeconds = 3600;
  const { keys } = makeFabricKeys();
  const tokens = createHostTokens(keys, lifetimeSeconds);
  const nonceSecret = randomBytes(32);
  const service = await openServiceDatabase({ patienceMs: 20_000 });
  const { database } = service;
  const made = await createTestOrganization(database, "Acme", "ada@acme.example");
  const organizationId = parseId("organization", made.organizationId)!;
  /** Number of revocations, number of answers to unknown hosts, and the time of nonces. */
  const counts = { revocations: 0, unknown: 0, now: Date.now() };
  const removed = createRemovedHosts({
    system: database.system,
    keys,
    countUnknown: () => counts.unknown++,
    log: createLog("silent"),
  });
  const parts: HostIdentity = {
    database,
    removed,
    tokens,
    commandKey: keys.commandKey.publicKey,
    nonces: createNonces(nonceSecret, () => counts.now),
    async cutOff() {
      counts.revocations++;
    },
  };

  function newInstance(): Promise<string> {
    return database.tenantTransaction(
      organizationId,
      async (sql) => (await sql.first(insertInstance, organizationId, "box"))!.instance_id,
    );
  }

  function newToken(instanceId: string): Promise<string> {
    return database.tenantTransaction(
      organizationId,
      async (sql) =>
        (await issuePairingToken(sql, "https://hawser.example", instanceId)).pairingToken,
    );
  }

  const pair = (
    pairingToken: string,
    key: Nkey,
    machineId = "m1",
    callId = "test",
    countWrongToken = () => {},
  ) =>
    pairHost(
      parts,
      { pairingToken, publicKey: key.publicKey, machineId, daemonVersion: "1.2.3" },
      callId,
      countWrongToken,
    );

  return {
    lifetimeSeconds,
    keys,
    tokens,
    nonceSecret,
    url: service.url,
    database,
    organizationId,
    counts,
    removed,
    parts,
    newInstance,
    newToken,
    pair,

    /** Before each test. */
    async reset(): Promise<void> {
      Object.assign(counts, { revocations: 0, unknown: 0, now: Date.now() });
      await moveClock(service.url, 0);
    },

    /** What delete_instance does to an instance. */
    remove(instanceId: string): Promise<void> {
      return database.tenantTransaction(organizationId, async (sql) => {
        await sql.first(deleteInstance, organizationId, instanceId);
        sql.later(revokePairingTokens, organizationId, instanceId);
        revokeHostKeys(sql, organizationId, instanceId);
      });
    },

    renew: (key: Nkey, nonce = parts.nonces.make()) =>
      renewHost(parts, makeRenewRequest(key, nonce)),

    async pairedHost(machineId = "m1") {
      const instanceId = await newInstance();
      const key = makeNkey("user");
      const reply = await pair(await newToken(instanceId), key, machineId);
      return { instanceId, key, reply };
    },

    async keyRow(key: Nkey): Promise<KeyRow | undefined> {
      const rows = await ownerSql<KeyRow>(
        service.url,
        `SELECT machine_id, token_expires_at, revoked_at IS NOT NULL AS revoked
           FROM host_keys WHERE public_key = $1`,
        [key.publicKey],
      );
      return rows[0];
    },

    /** Whether a daemon with this key, paired with this instance, forgets at this answer. */
    provesRemoval(
      answer: RenewReply,
      instanceId: string,
      key: Nkey,
      commandKeys = [keys.commandKey.publicKey],
    ): boolean {
      const id = formatId("instance", instanceId);
      const host = { instanceId: id, hostKey: key.publicKey, commandKeys, now: Date.now() };
      return "forget" in answer && isForgetProven(answer.proof, host);
    },

    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
