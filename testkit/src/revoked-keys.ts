// Many revoked host keys, as rows: hosts that were paired and removed in the last minutes.
import { parseId } from "@hawser/contract";
import { makeNkey } from "@hawser/host-protocol";
import { ownerSql } from "./owner-sql.ts";
import type { World } from "./world.ts";

const atOnce = 5_000;

/** Adds them to an instance of the first organization. Their last tokens are valid for nearly two hours more. */
export async function insertRevokedKeys(
  { database, organizations }: Pick<World, "database" | "organizations">,
  instanceId: string,
  count: number,
): Promise<void> {
  const instance = [
    parseId("organization", organizations[0].organizationId),
    parseId("instance", instanceId),
  ];
  for (let left = count; left > 0; left -= atOnce) {
    const keys = Array.from({ length: Math.min(atOnce, left) }, () => makeNkey("user").publicKey);
    await ownerSql(
      database.url,
      `INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at, revoked_at)
       SELECT $1, $2, key, 'm', hawser_now() + interval '119 minutes', hawser_now() - interval '1 minute'
         FROM unnest($3::text[]) AS key`,
      [...instance, keys],
    );
  }
}
