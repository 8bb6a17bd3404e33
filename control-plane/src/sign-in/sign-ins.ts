// Sign-ins: created for a browser, found again by its cookie, and ended. A sign-in has a cookie of its own, which is
// stored as its SHA-256 only.
import { formatId } from "@hawser/contract";
import type { CallerCache } from "../access/caller-cache.ts";
import { permissionsOf } from "../access/roles.ts";
import {
  hashSecret,
  looksLikeSecret,
  makeSecretText,
  secretPrefixes,
} from "../access/secret-text.ts";
import type { Caller, NamedSignIn } from "../dispatch/caller.ts";
import type { SystemDatabase, SystemTransaction } from "../postgres/database.ts";
import { readInGroups } from "../postgres/in-groups.ts";
import { refuseOtherPerson } from "./other-person.ts";
import { insertSignInLike } from "./phone-store.ts";
import type { Assertion } from "./provider.ts";
import { insertProviderSignIn } from "./provider-store.ts";
import type { Sealing } from "./sealing.ts";
import * as store from "./store.ts";

/** After this time a person signs in again, whatever they do. */
export const signInDays = 14;
/** The same for a sign-in with a provider. The provider may end it sooner. */
export const providerSignInDays = 0.5;

export interface NewSignIn {
  userId: string;
  way: Exclude<store.SignInWay, "provider">;
  /** The browser's own description of itself. */
  device: string | undefined;
}

export interface SignIns {
  /** The person of a sign-in; undefined if it is over. */
  personOf(token: string | undefined): Promise<store.PersonRow | undefined>;
  /**
   * The caller that a sign-in is in one organization; undefined if it is over or does not reach it. Throws
   * `other_person` if it is not the sign-in of the named person.
   */
  callerOf(signIn: NamedSignIn, options: { fresh: boolean }): Promise<Caller | undefined>;
  /** The caller, as of now, of the sign-in whose cookie has this hash; undefined as above. */
  callerOfHash(hash: Buffer, organizationId: string): Promise<Caller | undefined>;
  /** Ends one sign-in. */
  end(token: string): Promise<void>;
  /** Drops the cached callers of a person, whose sign-ins have changed. Takes the stored id. */
  forget(userId: string): void;
  /** Records which sign-ins were used since the last call. */
  noteUses(): Promise<void>;
}

export function createSignIns(accounts: SystemDatabase, cache: CallerCache): SignIns {
  let used = new Set<string>();

  const findOwner = readInGroups(async (asked: { hash: string; organizationId: string }[]) => {
    const rows = await accounts.system.rows(
      store.selectSignInOwners,
      asked.map(({ hash }) => `\\x${hash}`),
      asked.map(({ organizationId }) => organizationId),
    );
    const owners = new Map(rows.map((row) => [idOf(row.token_hash, row.organization_id), row]));
    return asked.map(({ hash, organizationId }) => owners.get(`${hash} ${organizationId}`));
  });

  function forget(userId: string): void {
    cache.forget((caller) => caller.signIn !== undefined && caller.userId === userId);
  }

  async function personOf(token: string | undefined): Promise<store.PersonRow | undefined> {
    if (token === undefined || !looksLikeToken(token)) return undefined;
    return accounts.system.first(store.selectPerson, hashSecret(token));
  }

  return {
    personOf,
    async callerOf({ token, organizationId, person }, options) {
      if (!looksLikeToken(token)) return undefined;
      const hash = hashSecret(token).toString("hex");
      const caller = await cache.find(`${hash} ${organizationId}`, options, async () => {
        const owner = await findOwner({ hash, organizationId });
        if (!owner) return undefined;
        used.add(owner.sign_in_id);
        return { caller: callerOf(owner), expiresInMs: owner.expires_in_ms };
      });
      // Somebody else may not reach the organization of the page.
      if (person !== undefined) {
        refuseOtherPerson(person, caller ? caller.userId : (await personOf(token))?.user_id);
      }
      return caller;
    },
    async callerOfHash(hash, organizationId) {
      const owner = await findOwner({ hash: hash.toString("hex"), organizationId });
      return owner && callerOf(owner);
    },
    async end(token) {
      const ended = await accounts.system.first(store.endSignIn, hashSecret(token));
      if (ended) forget(ended.user_id);
    },
    forget,
    async noteUses() {
      if (used.size === 0) return;
      const noted = used;
      used = new Set();
      try {
        await accounts.system.rows(store.noteSignInUses, [...noted]);
      } catch (error) {
        for (const id of noted) used.add(id);
        throw error;
      }
    },
  };
}

const looksLikeToken = (token: string) =>
  looksLikeSecret(secretPrefixes.signIn, token) ||
  looksLikeSecret(secretPrefixes.providerSignIn, token);

/** A person with more browsers than this is signed out of the oldest one. */
const mostSignIns = 100;
const longestDevice = 200;

/** Creates a sign-in in the transaction of what caused it. Returns the cookie's value, which is not stored. */
export async function createSignIn(
  tx: Pick<SystemTransaction, "first">,
  { userId, way, device }: NewSignIn,
): Promise<string> {
  const token = makeSecretText(secretPrefixes.signIn);
  await tx.first(
    store.insertSignIn,
    hashSecret(token),
    userId,
    way,
    deviceName(device),
    signInDays,
  );
  await tx.first(store.endOldestSignIns, userId, mostSignIns, null);
  return token;
}

/** Creates a sign-in with what limits the sign-in `from`, as above. Takes its stored id. */
export async function takeOverSignIn(
  tx: Pick<SystemTransaction, "first">,
  { from, userId, device }: { from: string; userId: string; device: string | undefined },
): Promise<string> {
  const token = makeSecretText(secretPrefixes.signIn);
  await tx.first(insertSignInLike, hashSecret(token), deviceName(device), from);
  await tx.first(store.endOldestSignIns, userId, mostSignIns, null);
  return token;
}

export interface NewProviderSignIn {
  userId: string;
  device: string | undefined;
  organizationId: string;
  settingsId: string;
  assertion: Assertion;
}

/** The same for a person whom a provider has signed in. */
export async function createProviderSignIn(
  tx: Pick<SystemTransaction, "first">,
  sealing: Sealing,
  { userId, device, organizationId, settingsId, assertion }: NewProviderSignIn,
): Promise<string> {
  const token = makeSecretText(secretPrefixes.providerSignIn);
  const hash = hashSecret(token);
  const { issuer, subject, refreshToken, authenticatedAt } = assertion;
  await tx.first(
    insertProviderSignIn,
    hash,
    userId,
    deviceName(device),
    organizationId,
    settingsId,
    issuer,
    subject,
    refreshToken && sealing.seal(refreshTokenPlace(hash), refreshToken),
    authenticatedAt,
  );
  await tx.first(store.endOldestSignIns, userId, mostSignIns, organizationId);
  return token;
}

/** Where a refresh token is sealed for. */
export const refreshTokenPlace = (tokenHash: Buffer) =>
  `refresh token\n${tokenHash.toString("hex")}`;

/** A browser's user agent, as it is stored. */
export function deviceName(device: string | undefined): string {
  return (device ?? "unknown browser").replaceAll(/[^\x20-\x7e]/g, "").slice(0, longestDevice);
}

const idOf = (hash: Buffer, organizationId: string) => `${hash.toString("hex")} ${organizationId}`;

function callerOf(owner: store.SignInOwner): Caller {
  return {
    organizationId: owner.organization_id,
    organizationName: owner.organization_name,
    apiKeyId: owner.api_key_id,
    scope: "user",
    userId: owner.user_id,
    joinedAt: owner.joined_at,
    sessionId: null,
    permissions: new Set(permissionsOf(owner)),
    usesGrants: owner.has_grants,
    signIn: {
      signInId: owner.sign_in_id,
      authenticatedForMs: owner.authenticated_for_ms,
      isOfProvider: owner.is_of_provider,
    },
  };
}

/** A person's sign-in, as callers see its id. */
export const shownSignIn = (signInId: string) => formatId("signIn", signInId);
