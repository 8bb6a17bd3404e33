// Finds the caller of an Authorization header. A key is cached for a few seconds, so a busy key costs
// no query. A revoked key therefore stops working within that time on every node, and immediately on
// the node that revoked it.
import { agentKeyPermissions, roles, type Permission } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { hashSecret, looksLikeSecret } from "./secret-text.ts";
import { noteKeyUses, selectKeyOwner, type KeyOwner } from "./store.ts";

const rememberedMs = 5_000;
const mostRemembered = 10_000;

export interface Authenticator {
  authenticate: (authorization: string | undefined) => Promise<Caller | undefined>;
  /** Records which keys were used since the last call. */
  noteUses: () => Promise<void>;
  /** Drops the cached keys of an organization. Call it when its keys or members have changed. */
  forget: (organizationId: string) => void;
}

export function createAuthenticator(
  system: SystemSql,
  now: () => number = Date.now,
): Authenticator {
  const remembered = new Map<string, { caller: Caller; until: number }>();
  let used = new Map<string, Caller>();
  // A lookup that began before the cache was dropped must not be cached after it.
  let forgotten = 0;

  return {
    async authenticate(authorization) {
      const key = bearer(authorization);
      if (!key || !looksLikeSecret("hwk", key)) return undefined;
      const hash = hashSecret(key);
      const cacheKey = hash.toString("base64");
      const known = remembered.get(cacheKey);
      if (known && known.until > now()) return known.caller;
      remembered.delete(cacheKey);
      const asked = now();
      const forgottenBefore = forgotten;
      const owner = await system.first(selectKeyOwner, hash);
      if (!owner) return undefined;
      const caller = callerOf(owner);
      used.set(caller.apiKeyId, caller);
      if (forgotten !== forgottenBefore) return caller;
      if (remembered.size >= mostRemembered) remembered.clear();
      const lives = Math.min(rememberedMs, owner.expires_in_ms ?? rememberedMs);
      remembered.set(cacheKey, { caller, until: asked + lives });
      return caller;
    },
    async noteUses() {
      if (used.size === 0) return;
      const callers = [...used.values()];
      used = new Map();
      await system.rows(
        noteKeyUses,
        callers.map((caller) => caller.organizationId),
        callers.map((caller) => caller.apiKeyId),
      );
    },
    forget(organizationId) {
      forgotten += 1;
      for (const [key, { caller }] of remembered) {
        if (caller.organizationId === organizationId) remembered.delete(key);
      }
    },
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
    sessionId: owner.session_id,
    permissions: new Set(effectivePermissions(owner, isAgent)),
  };
}

/**
 * A user's key has the permissions that both the key and the user's role allow, so a change of role
 * affects its keys.
 */
function effectivePermissions({ permissions, role }: KeyOwner, isAgent: boolean): Permission[] {
  const byRole: readonly Permission[] | undefined = role ? roles[role] : undefined;
  return permissions
    .filter((permission) => byRole?.includes(permission) ?? true)
    .filter((permission) => !isAgent || agentKeyPermissions.includes(permission));
}
