// Organizations and keys for tests, created with the service's own code.
import { parseId, permissionNames, roles, type Permission } from "@hawser/contract";
import { makeApiKey } from "@hawser/control-plane/access/api-key.ts";
import { createOrganization } from "@hawser/control-plane/access/bootstrap.ts";
import type { Database } from "@hawser/control-plane/postgres/database.ts";

export interface TestOrganization {
  organizationId: string;
  /** Id of the user who owns the organization. */
  userId: string;
  keys: {
    /** A key of the organization, with every permission. */
    owner: string;
    /** A key of the organization, with the two view permissions. */
    viewer: string;
    /** A user's key, with the six permissions of the interface. */
    member: string;
  };
}

export interface KeyOptions {
  userId?: string | null;
  sessionId?: string | null;
  expiresAt?: string | null;
  name?: string;
}

export async function createTestOrganization(
  database: Database,
  name: string,
  email: string,
): Promise<TestOrganization> {
  const { organizationId, userId } = await database.systemTransaction((tx) =>
    createOrganization(tx, name, email),
  );
  const key = (permissions: readonly Permission[], options: KeyOptions) =>
    makeKey(database, organizationId, permissions, options);
  return {
    organizationId,
    userId,
    keys: {
      owner: await key(permissionNames, { name: "owner" }),
      viewer: await key(roles.viewer, { name: "viewer" }),
      member: await key(roles.member, { name: "member", userId }),
    },
  };
}

export async function makeKey(
  database: Database,
  organizationId: string,
  permissions: readonly Permission[],
  { userId = null, sessionId = null, expiresAt = null, name = "test key" }: KeyOptions = {},
): Promise<string> {
  const { key } = await database.systemTransaction((tx) =>
    makeApiKey(tx, {
      organizationId: parseId("organization", organizationId)!,
      name,
      userId: userId && parseId("user", userId),
      sessionId: sessionId && parseId("session", sessionId),
      permissions,
      createdBy: null,
      creator: null,
      expiresAt,
    }),
  );
  return key;
}
