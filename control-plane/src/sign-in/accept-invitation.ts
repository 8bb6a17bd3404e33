// Accepting an invitation. It lets the account of one e-mail address reach one organization. The address proves
// nothing by itself: whoever has the link creates the account if there is none, and otherwise has to be signed in as
// its person. So nobody who invites an address gets at an account that exists (decision 0080).
import {
  Refusal,
  formatId,
  isBuiltInRole,
  permissionNames,
  type Permission,
} from "@hawser/contract";
import { insertEntry } from "../audit/store.ts";
import { permissionsOf, storedRole, type HeldRole } from "../access/roles.ts";
import { userForEmail } from "../access/store.ts";
import { hashSecret, looksLikeSecret, secretPrefixes } from "../access/secret-text.ts";
import type { SystemDatabase, SystemTransaction } from "../postgres/database.ts";
import type { Passwords } from "./password.ts";
import { letSignInsReach } from "./reach.ts";
import { createSignIn } from "./sign-ins.ts";
import * as store from "./store.ts";

export interface Acceptance {
  secret: string;
  /** The person who is signed in with this browser; undefined if the browser has no sign-in. */
  person: store.PersonRow | undefined;
  /** The password for a new account; undefined for a person who has an account. */
  password: string | undefined;
  /** A key of a member who has had one: others may have opened the link. */
  key: string | undefined;
  device: string | undefined;
  callId: string;
}

export interface Accepted {
  organizationId: string;
  userId: string;
  /** The cookie of a new account's first sign-in. */
  token: string | undefined;
}

export interface Invitations {
  /** What a link offers. Throws `not_found` if it is not good, or not any more. */
  read(secret: string): Promise<store.InvitationRow & { organization_name: string }>;
  accept(acceptance: Acceptance): Promise<Accepted>;
}

export function createInvitations(accounts: SystemDatabase, passwords: Passwords): Invitations {
  async function read(secret: string) {
    refuseMistyped(secret);
    const row = await accounts.system.first(store.selectOpenInvitation, hashSecret(secret));
    if (!row) throw notGood();
    return row;
  }

  return {
    read,
    async accept(acceptance) {
      const { secret, password } = acceptance;
      // Strangers can write secrets that look good, and must not occupy the node with hashes.
      await read(secret);
      // Before the transaction, because it takes a while.
      const passwordHash =
        password === undefined ? null : await passwords.hash(password, { isKnown: false });
      return accounts.systemTransaction((tx) => accept(tx, acceptance, passwordHash));
    },
  };
}

async function accept(
  tx: SystemTransaction,
  { secret, person, key, device, callId }: Acceptance,
  passwordHash: string | null,
): Promise<Accepted> {
  const invitation = await tx.first(store.lockOpenInvitation, hashSecret(secret));
  if (!invitation) throw notGood();
  const { role, rights } = await offeredRole(tx, invitation);
  const { organization_id: organizationId, email } = invitation;
  if (person && person.email !== email) {
    throw new Refusal(
      "forbidden",
      `This invitation is for ${email}, and you are signed in as ${person.email}. Sign out, and open the link again.`,
    );
  }
  const userId = (await tx.first(userForEmail, email))!.user_id;
  let token: string | undefined;
  if (!person) {
    const made = await tx.first(store.insertAccount, userId, passwordHash);
    if (!made) {
      throw new Refusal(
        "sign_in_first",
        `There is an account for ${email}. Sign in with it, and open the link again.`,
      );
    }
    if (passwordHash === null) {
      throw new Refusal("invalid_input", "A new account needs a password.", {
        fields: [{ field: "password", message: "is required" }],
      });
    }
    token = await createSignIn(tx, { userId, way: "invitation", device });
  }
  await reach(tx, invitation, { userId, role, rights, key });
  await tx.rows(store.acceptInvitation, organizationId, invitation.invitation_id);
  const records = {
    invitationId: formatId("invitation", invitation.invitation_id),
    userId: formatId("user", userId),
  };
  tx.later(
    insertEntry,
    organizationId,
    null,
    userId,
    null,
    "accept_invitation",
    "done",
    { email, role: role.role },
    records,
    callId,
    null,
  );
  return { organizationId, userId, token };
}

/** Makes the person a member, if they are none, whom sign-ins reach. */
async function reach(
  tx: SystemTransaction,
  invitation: store.InvitationRow,
  {
    userId,
    role,
    rights,
    key: shown,
  }: { userId: string; role: HeldRole; rights: Permission[]; key: string | undefined },
): Promise<void> {
  const { organization_id: organizationId, email, name } = invitation;
  const member = await tx.first(store.lockMembership, organizationId, userId);
  if (member?.sign_in_key) return;
  // Who is a member already keeps the role that they have. The inviter may have opened the link, so the invitation
  // ends if the inviter may not grant that role.
  if (member && !permissionsOf(member).every((each) => rights.includes(each))) throw notGood();
  // Nor may the inviter act as a member who has keys (decision 0033), or whom the provider has signed in.
  const keys = member ? await tx.rows(store.selectKeysSinceJoining, organizationId, userId) : [];
  const hash = hashSecret(shown ?? "");
  const isShown = keys.some(
    ({ secret_hash, permissions, is_valid }) =>
      is_valid &&
      secret_hash.equals(hash) &&
      permissionsOf(member!).every((each) => permissions.includes(each)),
  );
  if ((keys.length > 0 || member?.has_provider) && !isShown) throw keyNeeded();
  if (!member) {
    const values = [organizationId, userId, email, name, ...storedRole(role)];
    await tx.rows(store.insertInvitedMember, ...values);
  }
  await letSignInsReach(tx, organizationId, userId);
}

/**
 * The role that the invitation grants, and what its creator may grant now. An invitation ends when its creator may
 * no longer grant that role: the key was revoked, the person demoted, or the role widened.
 */
export async function offeredRole(
  tx: SystemTransaction,
  { organization_id, creator_key_id, role: name }: store.InvitationRow,
): Promise<{ role: HeldRole; rights: Permission[] }> {
  const own = isBuiltInRole(name)
    ? undefined
    : await tx.first(store.selectInvitedRole, organization_id, name);
  if (!own && !isBuiltInRole(name)) throw notGood();
  const role = { role: name, own_permissions: own?.permissions ?? null };
  const inviter = await tx.first(store.selectInviter, organization_id, creator_key_id);
  if (!inviter) throw notGood();
  const byRole =
    inviter.role === null ? permissionNames : permissionsOf({ ...inviter, role: inviter.role });
  const rights = inviter.permissions.filter((each) => byRole.includes(each));
  const isGrantable = permissionsOf(role).every((each) => rights.includes(each));
  if (!rights.includes("access:edit") || !isGrantable) throw notGood();
  return { role, rights };
}

function refuseMistyped(secret: string): void {
  if (!looksLikeSecret(secretPrefixes.invitation, secret)) throw notGood();
}

const keyNeeded = () =>
  new Refusal(
    "forbidden",
    "You are a member with keys already. Show that it is you: send a key of yours that has every permission of your role.",
    { fields: [{ field: "key", message: "must be a key of the invited member" }] },
  );

const notGood = () =>
  new Refusal(
    "not_found",
    "This link is not good: it was used or withdrawn, is older than 72 hours, or its creator may no longer invite to this role. Ask for another invitation.",
  );
