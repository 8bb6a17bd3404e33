// Accepting an invitation. It lets the account of one e-mail address reach one organization. The address proves
// nothing by itself: whoever has the link creates the account if there is none, and otherwise has to be signed in as
// its person. So nobody who invites an address gets at an account that exists (decision 0080).
import { Refusal, formatId, isBuiltInRole, permissionNames } from "@hawser/contract";
import { insertEntry } from "../audit/store.ts";
import { permissionsOf, storedRole, type HeldRole } from "../access/roles.ts";
import { userForEmail } from "../access/store.ts";
import { hashSecret, looksLikeSecret } from "../access/secret-text.ts";
import type { SystemDatabase, SystemTransaction } from "../postgres/database.ts";
import { invitationPrefix } from "./handlers.ts";
import type { Passwords } from "./password.ts";
import { createSignIn } from "./sign-ins.ts";
import * as store from "./store.ts";

export interface Acceptance {
  secret: string;
  /** The person who is signed in; undefined if nobody is. */
  person: store.PersonRow | undefined;
  /** Of a new account. */
  password: string | undefined;
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
  return {
    async read(secret) {
      refuseMistyped(secret);
      const row = await accounts.system.first(store.selectOpenInvitation, hashSecret(secret));
      if (!row) throw notGood();
      return row;
    },
    async accept(acceptance) {
      refuseMistyped(acceptance.secret);
      // Before the transaction, because it takes a while.
      const { password } = acceptance;
      const passwordHash = password === undefined ? null : await passwords.hash(password);
      return accounts.systemTransaction((tx) => accept(tx, acceptance, passwordHash));
    },
  };
}

async function accept(
  tx: SystemTransaction,
  { secret, person, device, callId }: Acceptance,
  passwordHash: string | null,
): Promise<Accepted> {
  const invitation = await tx.first(store.lockOpenInvitation, hashSecret(secret));
  if (!invitation) throw notGood();
  const role = await offeredRole(tx, invitation);
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
  await reach(tx, invitation, { userId, role });
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
  { userId, role }: { userId: string; role: HeldRole },
): Promise<void> {
  const { organization_id: organizationId, email, name } = invitation;
  const member = await tx.first(store.lockMembership, organizationId, userId);
  // Who is a member already keeps the role that they have.
  if (!member) {
    const values = [organizationId, userId, email, name, ...storedRole(role)];
    await tx.rows(store.insertInvitedMember, ...values);
  }
  if (member?.sign_in_key) return;
  // It never limits the member: a user's key has what the role allows.
  const key = await tx.first(store.insertSignInKey, organizationId, userId, permissionNames);
  await tx.rows(store.setSignInKey, organizationId, userId, key!.api_key_id);
}

/**
 * The role that the invitation grants. An invitation ends when its creator may no longer grant that role: the key
 * was revoked, the person demoted, or the role widened.
 */
async function offeredRole(
  tx: SystemTransaction,
  { organization_id, creator_key_id, role: name }: store.InvitationRow,
): Promise<HeldRole> {
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
  return role;
}

function refuseMistyped(secret: string): void {
  if (!looksLikeSecret(invitationPrefix, secret)) throw notGood();
}

const notGood = () =>
  new Refusal(
    "not_found",
    "This link is not good: it was used, was withdrawn, or is older than 72 hours. Ask for another invitation.",
  );
