// Sets the service up: an organization, its owner, and a key with every permission.
import { formatId, permissionNames, type Permission } from "@hawser/contract";
import { ConfigError } from "../config.ts";
import type { Database, SystemTransaction } from "../postgres/database.ts";
import { setUpAlone } from "../postgres/set-up-lock.ts";
import {
  prepareFile,
  preparedFile,
  publishFile,
  readIfThere,
  refuseExisting,
} from "../replace-file.ts";
import { makeApiKey } from "./api-key.ts";
import { hashSecret, looksLikeSecret, secretPrefixes } from "./secret-text.ts";
import * as store from "./store.ts";

export interface NewOrganization {
  organizationId: string;
  userId: string;
  /** The owner's key, shown once. */
  key: string;
}

interface FirstOrganization {
  /** Whether this run created the organization. */
  created: boolean;
  organizationId: string;
  /** null if the key in the file belongs to the organization. */
  userId: string | null;
  key: string;
}

/**
 * Creates the first organization. If one exists, throws a ConfigError, unless `keyFile` contains a valid key.
 *
 * With `keyFile` the key is on disk before the commit, and the file gets its name after it. So if the file
 * exists, its key is valid, and a run that was killed between is finished by the next one.
 */
export async function bootstrap(
  database: Pick<Database, "systemTransaction">,
  wanted: { name: string; email: string; keyFile?: string | undefined },
): Promise<FirstOrganization> {
  const { name, email, keyFile } = wanted;
  const first = await setUpAlone(database, async (tx) => {
    const existing = await tx.first(store.anyOrganization);
    if (existing) {
      const found = keyFile === undefined ? undefined : await findKept(tx, keyFile);
      if (found) return found;
      throw new ConfigError(
        `The service is set up already, for the organization "${existing.name}". Nothing was changed.${keyFile === undefined ? "" : ` ${keyFile} contains no valid key of this service.`}`,
      );
    }
    if (keyFile !== undefined) await refuseExisting(keyFile);
    const made = await createOrganization(tx, name, email);
    if (keyFile !== undefined) await prepareFile(keyFile, `${made.key}\n`);
    return { created: true, isPrepared: keyFile !== undefined, ...made };
  });
  const { isPrepared, ...result } = first;
  if (isPrepared) await setUpAlone(database, () => publishFile(keyFile!));
  return result;
}

/** The organization whose key is in the file, or was prepared by a run that was killed. */
async function findKept(tx: SystemTransaction, keyFile: string) {
  const published = await readIfThere(keyFile);
  const isPrepared = published === undefined;
  const key = (published ?? (await readIfThere(preparedFile(keyFile))))?.trim() ?? "";
  if (!looksLikeSecret(secretPrefixes.apiKey, key)) return undefined;
  const hash = hashSecret(key).toString("hex");
  const owner = await tx.first(store.selectKeyOwners, [`\\x${hash}`]);
  return (
    owner && {
      created: false,
      isPrepared,
      organizationId: formatId("organization", owner.organization_id),
      userId: owner.user_id && formatId("user", owner.user_id),
      key,
    }
  );
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
  await tx.first(store.insertMember, organizationId, userId, email, null, "owner", null);
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
