// Finds the caller of an Authorization header. Keys that are looked up at the same time share one query.
import { agentKeyPermissions, type Permission } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import { readInGroups } from "../postgres/in-groups.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { createCallerCache, type CallerCache } from "./caller-cache.ts";
import { createKeyUses } from "./key-uses.ts";
import { permissionsOf } from "./roles.ts";
import { hashSecret, looksLikeSecret, secretPrefixes } from "./secret-text.ts";
import { selectKeyOwner, selectKeyOwners, selectOwnersOfKeys, type KeyOwner } from "./store.ts";

/** Returns undefined if the key is missing or not valid. `fresh`: reads the key again, even if it is cached. */
export type Authenticate = (
  authorization: string | undefined,
  options?: { fresh: boolean },
) => Promise<Caller | undefined>;

export interface Authenticator {
  authenticate: Authenticate;
  /** The caller of a key by its stored id, read again each time. Undefined if the key is not valid now. */
  callerOfKey: (organizationId: string, apiKeyId: string) => Promise<Caller | undefined>;
  /** The callers of keys by their stored ids, read again each time. A key that is not valid is missing. No use counts. */
  callersOfKeys: (
    keys: readonly { organizationId: string; apiKeyId: string }[],
  ) => Promise<Map<string, Caller>>;
  /** Records which keys were used since the last call. */
  noteUses: () => Promise<void>;
  /** Drops the cached callers of an organization. Call it when its keys or members have changed. */
  forget: (organizationId: string) => void;
}

/** `cache`: shared with the sign-ins, so that `forget` reaches them too. */
export function createAuthenticator(
  system: SystemSql,
  now: () => number = Date.now,
  cache: CallerCache = createCallerCache(now),
): Authenticator {
  const uses = createKeyUses(system, now);

  const findOwner = readInGroups(async (hashes: string[]) => {
    const rows = await system.rows(
      selectKeyOwners,
      [...new Set(hashes)].map((hash) => `\\x${hash}`),
    );
    const owners = new Map(rows.map((row) => [row.secret_hash.toString("hex"), row]));
    return hashes.map((hash) => owners.get(hash));
  });

  return {
    async authenticate(authorization, { fresh } = { fresh: false }) {
      const key = bearer(authorization);
      if (!key || !looksLikeSecret(secretPrefixes.apiKey, key)) return undefined;
      const hash = hashSecret(key).toString("hex");
      return cache.find(hash, { fresh }, async () => {
        const owner = await findOwner(hash);
        if (!owner) return undefined;
        const caller = callerOf(owner);
        uses.note(caller);
        return { caller, expiresInMs: owner.expires_in_ms };
      });
    },
    async callerOfKey(organizationId, apiKeyId) {
      const owner = await system.first(selectKeyOwner, organizationId, apiKeyId);
      if (!owner) return undefined;
      const caller = callerOf(owner);
      uses.note(caller);
      return caller;
    },
    async callersOfKeys(keys) {
      const column = (name: "organizationId" | "apiKeyId") => keys.map((key) => key[name]);
      const ids = [column("organizationId"), column("apiKeyId")] as const;
      const owners = keys.length === 0 ? [] : await system.rows(selectOwnersOfKeys, ...ids);
      return new Map(owners.map((owner) => [owner.api_key_id, callerOf(owner)]));
    },
    noteUses: () => uses.flush(),
    forget: (organizationId) => cache.forget((caller) => caller.organizationId === organizationId),
  };
}

function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

function callerOf(owner: KeyOwner): Caller {
  const isAgent = owner.session_id !== null;
  return {
    organizationId: owner.organization_id,
    organizationName: owner.organization_name,
    apiKeyId: owner.api_key_id,
    scope: isAgent ? "agent" : owner.user_id ? "user" : "organization",
    userId: owner.user_id,
    joinedAt: owner.joined_at,
    sessionId: owner.session_id,
    permissions: new Set(effectivePermissions(owner, isAgent)),
    usesGrants: !isAgent && owner.has_grants && countsAsUser(owner),
  };
}

/** A key with fewer permissions than the user's role was made for one purpose, and uses none of the user's grants. */
function countsAsUser({ permissions, role, own_permissions }: KeyOwner): boolean {
  if (role === null) return false;
  return permissionsOf({ role, own_permissions }).every((each) => permissions.includes(each));
}

/**
 * A user's key has the permissions that both the key and the user's role allow, so a change of role
 * affects its keys.
 */
function effectivePermissions(owner: KeyOwner, isAgent: boolean): Permission[] {
  const { permissions, role, own_permissions } = owner;
  const byRole = role === null ? undefined : permissionsOf({ role, own_permissions });
  return permissions
    .filter((permission) => byRole?.includes(permission) ?? true)
    .filter((permission) => !isAgent || agentKeyPermissions.includes(permission));
}
