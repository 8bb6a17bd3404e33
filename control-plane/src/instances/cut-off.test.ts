// A removed host is disconnected even if NATS does not accept the revocation.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import { createCutOff } from "./cut-off.ts";

let service: ServiceDatabase;
let instance: [organizationId: string, instanceId: string];
let steps: string[] = [];

before(async () => {
  service = await openServiceDatabase();
  const { organizationId } = await createTestOrganization(service.database, "Acme", "a@x.example");
  const organization = parseId("organization", organizationId)!;
  const [row] = await ownerSql<{ instance_id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name) VALUES ($1, 'box') RETURNING *),
          k AS (INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at, revoked_at)
                SELECT organization_id, instance_id, key, 'm', hawser_now(), revoked_at
                  FROM i, (VALUES ('UFORMER', hawser_now()), ('UPRESENT', NULL)) AS keys (key, revoked_at)),
          c AS (INSERT INTO host_connections (server_id, client_id, public_key, organization_id, instance_id)
                SELECT 'n1', client_id, key, organization_id, instance_id
                  FROM i, (VALUES (1, 'UFORMER'), (2, 'UFORMER'), (3, 'UPRESENT')) AS c (client_id, key))
     SELECT instance_id FROM i`,
    [organization],
  );
  instance = [organization, row!.instance_id];
});

after(() => service[Symbol.asyncDispose]());

const cutOff = () => {
  steps = [];
  return createCutOff({
    system: service.database.system,
    kick: async ({ serverId, clientId, user }) => {
      steps.push(`kick ${serverId} ${clientId} ${user}`);
    },
    revoking: {
      async push() {
        await new Promise((resolve) => setTimeout(resolve, 200));
        steps.push("pushed");
      },
    },
    log: createLog("silent"),
  });
};

const kicks = ["kick n1 1 UFORMER", "kick n1 2 UFORMER"];

test("connections of revoked keys that a push leaves are ended, and no others", async () => {
  await cutOff()(...instance);
  assert.deepEqual(steps, ["pushed", ...kicks]);
});

test("a host that did not answer the order to forget is disconnected before the push", async () => {
  await cutOff()(...instance, { isSilent: true });
  assert.deepEqual(steps, [...kicks, "pushed", ...kicks]);
});
