// Sets the service up: an organization, its owner, and a key with every permission.
import { formatId, permissionNames, type Permission } from "@hawser/contract";
import { ConfigError } from "../config.ts";
import type { Database, SystemTransaction } from "../postgres/database.ts";
import { makeApiKey } from "./api-key.ts";
import * as store from "./store.ts";

export interface NewOrganization {
  organizationId: string;
  userId: string;
  /** The owner's key, shown once. */
  key: string;
}

/** Creates the first organization. Refuses if one exists, so that running it twice is harmless. */
export async function bootstrap(
  database: Database,
  name: string,
  email: string,
): Promise<NewOrganization> {
  return database.systemTransaction(async (tx) => {
    const existing = await tx.first(store.anyOrganization);
    if (existing) {
      throw new ConfigError(
        `The service is set up already, for the organization "${existing.name}". Nothing was changed.`,
      );
    }
    return createOrganization(tx, name, email);
  });
}

/** Creates an organization with its owner and the owner's key. Runs as hawser_system. */
export async function createOrganization(
  tx: SystemTransaction,
  name: string,
  email: string,
): Promise<NewOrganization> {
  const organization = await tx.first(store.insertOrganization, name);
  const organizationId = organization!.organization_id;
  const user = await tx.first(store.userForEmail, email);
  const userId = user!.user_id;
  await tx.first(store.insertMember, organizationId, userId, email, null, "owner");
  const permissions: readonly Permission[] = permissionNames;
  const { key } = await makeApiKey(tx, {
    organizationId,
    name: "first key",
    userId,
    sessionId: null,
    permissions,
    createdBy: null,
    creator: null,
    expiresAt: null,
  });
  return {
    organizationId: formatId("organization", organizationId),
    userId: formatId("user", userId),
    key,
  };
}
