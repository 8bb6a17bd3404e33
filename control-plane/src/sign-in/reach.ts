// What lets a person's sign-ins reach an organization.
import { permissionNames } from "@hawser/contract";
import type { SystemTransaction } from "../postgres/database.ts";
import { insertSignInKey, setSignInKey } from "./store.ts";

/** Gives a member the key without a secret that their calls are made with. They must have none. */
export async function letSignInsReach(
  tx: SystemTransaction,
  organizationId: string,
  userId: string,
): Promise<void> {
  // The key has every permission, so that only the role limits what the member may do.
  const key = await tx.first(insertSignInKey, organizationId, userId, permissionNames);
  await tx.rows(setSignInKey, organizationId, userId, key!.api_key_id);
}
