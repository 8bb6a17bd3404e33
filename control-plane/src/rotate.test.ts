// The last step of a rotation of the command key, with a host that has not pinned the new key.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { parseId } from "@hawser/contract";
import { masterKeysOf } from "@hawser/testkit/master-keys.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { pinnedKeys } from "./instances/host-key-store.ts";
import { stepCommandKey } from "./fabric/command-key-rotation.ts";
import { keepFabricKeys, makeFabricKeys } from "./fabric/fabric-keys.ts";
import { rotateCommandKey } from "./rotate.ts";

test("A14: a host that is left behind is named and removed, and the others stay", async () => {
  await using service = await openServiceDatabase();
  const { database, url } = service;
  const masterKeys = masterKeysOf(randomBytes(32));
  const long = new Date(Date.now() - 60_000);
  const begun = stepCommandKey(makeFabricKeys().keys, "begin", long);
  const keys = stepCommandKey(begun, "switch", long);
  await keepFabricKeys(database.system, masterKeys, keys);
  const made = await createTestOrganization(database, "Acme", "owner@acme.example");
  const organizationId = parseId("organization", made.organizationId);
  const { publicKey: newKey } = keys.commandKey;
  const { publicKey: oldKey } = keys.secondCommandKey!;
  for (const [name, pinned] of [
    ["up to date", [newKey, oldKey]],
    ["away", [oldKey]],
  ] as const) {
    await ownerSql(
      url,
      `WITH host AS (INSERT INTO instances (organization_id, name, status, status_reason, host_key)
                     VALUES ($1, $2, 'offline', 'link_lost', $2) RETURNING instance_id)
       INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at, command_keys)
       SELECT $1, instance_id, $2, 'machine', now(), $3 FROM host`,
      [organizationId, name, pinnedKeys(pinned)],
    );
  }

  const finish = (leaveBehind: boolean) =>
    rotateCommandKey({ database, masterKeys, step: "finish", leaveBehind });
  await assert.rejects(finish(false), /have not pinned the new key:\n.* away\n/);
  const text = await finish(true);
  assert.match(text, /do not have the new key and were removed:\n.* offline {2}away\n/);
  assert.doesNotMatch(text, /up to date/);
  const rows = await ownerSql(
    url,
    `SELECT i.name, i.status_reason, k.revoked_at IS NOT NULL AS revoked
       FROM instances i JOIN host_keys k ON k.instance_id = i.instance_id ORDER BY i.name`,
  );
  assert.deepEqual(rows, [
    { name: "away", status_reason: "revoked", revoked: true },
    { name: "up to date", status_reason: "link_lost", revoked: false },
  ]);
});
