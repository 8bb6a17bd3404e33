// Links with which an owner signs in, once. The first owner has no account yet, and nobody who could invite them; so an
// operator, who could read and write the database anyway, makes a link. It is no way around what a person has set up:
// there is none for an owner whose password or passkey reaches the organization (decisions 0084 and 0090).
import { Refusal, formatId } from "@hawser/contract";
import {
  hashSecret,
  looksLikeSecret,
  makeSecretText,
  secretPrefixes,
} from "../access/secret-text.ts";
import { insertEntry } from "../audit/store.ts";
import { ConfigError } from "../config.ts";
import type { SystemDatabase, SystemTransaction } from "../postgres/database.ts";
import * as linkStore from "./link-store.ts";
import type { Passwords } from "./password.ts";
import { letSignInsReach } from "./reach.ts";
import { createSignIn } from "./sign-ins.ts";
import * as store from "./store.ts";

const linkMinutes = 15;

export interface MadeLink {
  /** Contains the secret in its fragment, which browsers send to no server. */
  url: string;
  email: string;
  expiresAt: string;
}

/**
 * Ends the owner's earlier links. Throws a ConfigError if there is no owner with this address, if several fit, or if
 * the owner can sign in otherwise.
 */
export async function makeSignInLink(
  accounts: SystemDatabase,
  { email, baseUrl }: { email: string | undefined; baseUrl: string },
): Promise<MadeLink> {
  const secret = makeSecretText(secretPrefixes.ownerLink);
  const { owner, expiresAt } = await accounts.systemTransaction(async (tx) => {
    const owner = theOwner(await tx.rows(linkStore.selectOwners, email ?? null), email);
    await tx.rows(linkStore.deleteLinksOf, owner.user_id);
    const values = [hashSecret(secret), owner.organization_id, owner.user_id, linkMinutes];
    const made = await tx.first(linkStore.insertLink, ...values);
    return { owner, expiresAt: made!.expires_at };
  });
  return { url: `${baseUrl}/first#${secret}`, email: owner.email, expiresAt };
}

function theOwner(owners: linkStore.OwnerRow[], email: string | undefined): linkStore.OwnerRow {
  const [owner, another] = owners;
  if (!owner) {
    throw new ConfigError(
      email === undefined
        ? "There is no owner yet. Run bootstrap first."
        : `No owner has the e-mail address ${email}. A link signs in owners only; an owner invites everybody else.`,
    );
  }
  if (another) {
    throw new ConfigError(
      email === undefined
        ? "There are several owners. Name one of them with --email."
        : `${email} owns several organizations, and a link is about one. Let another owner of one of them create an invitation.`,
    );
  }
  if (owner.signs_in_otherwise) {
    throw new ConfigError(
      `${owner.email} has a password or a passkey, and signs in with that. There is no link for such an owner.`,
    );
  }
  if (owner.reaches_others) {
    throw new ConfigError(
      `The account of ${owner.email} reaches other organizations too, so there is no link for it. Let another owner create an invitation.`,
    );
  }
  return owner;
}

export interface Links {
  /** Throws `not_found` if the link is not good, or not any more. */
  read(secret: string): Promise<linkStore.LinkRow>;
  /** Makes the account, if there is none, and a sign-in. Throws as above. */
  use(use: LinkUse): Promise<{ userId: string; token: string }>;
}

interface LinkUse {
  secret: string;
  password: string | undefined;
  device: string | undefined;
  callId: string;
}

export function createLinks(accounts: SystemDatabase, passwords: Passwords): Links {
  async function read(secret: string) {
    const row =
      looksLikeSecret(secretPrefixes.ownerLink, secret) &&
      (await accounts.system.first(linkStore.selectLink, hashSecret(secret)));
    if (!row) throw notGood();
    return row;
  }

  return {
    read,
    async use(use) {
      // Strangers can write secrets that look good, and must not occupy the node with hashes.
      const link = await read(use.secret);
      if (use.password !== undefined && link.has_password) throw hasPassword();
      const passwordHash =
        use.password === undefined ? null : await passwords.hash(use.password, { isKnown: false });
      return accounts.systemTransaction((tx) => signIn(tx, use, passwordHash));
    },
  };
}

async function signIn(
  tx: SystemTransaction,
  { secret, device, callId }: LinkUse,
  passwordHash: string | null,
): Promise<{ userId: string; token: string }> {
  const link = await tx.first(linkStore.lockLink, hashSecret(secret));
  if (!link) throw notGood();
  const { organization_id: organizationId, user_id: userId } = link;
  const isNew = await tx.first(store.insertAccount, userId, passwordHash);
  if (!isNew && passwordHash !== null) {
    const isSet = await tx.first(store.updatePassword, userId, null, passwordHash);
    if (!isSet) throw notGood();
  }
  const member = await tx.first(store.lockMembership, organizationId, userId);
  if (!member) throw notGood();
  if (member.sign_in_key === null) await letSignInsReach(tx, organizationId, userId);
  const token = await createSignIn(tx, { userId, way: "link", device });
  // Otherwise the sign-in would not reach an organization that requires its provider.
  const isExcepted = await tx.first(linkStore.exceptOwner, organizationId, userId);
  await tx.rows(linkStore.deleteLinksOf, userId);
  const records = { userId: formatId("user", userId) };
  const what = ["use_sign_in_link", "done", isExcepted ? { excepted: true } : {}, records, callId];
  tx.later(insertEntry, organizationId, null, userId, null, ...what, null);
  return { userId, token };
}

const hasPassword = () =>
  new Refusal("invalid_input", "The account has a password already, which stays.", {
    fields: [{ field: "password", message: "must be left out" }],
  });

const notGood = () =>
  new Refusal(
    "not_found",
    "This link is not good: it was used, is older than 15 minutes, was replaced by a later one, or its owner can sign in otherwise by now. Make another one with sign-in-link.",
  );
