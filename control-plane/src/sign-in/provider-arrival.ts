// Who comes back from a provider: which member of the organization its person is. After the first time, issuer and
// subject decide, and never an e-mail address again (decision 0083).
import { Refusal, formatId, permissionNames } from "@hawser/contract";
import { permissionsOf, storedRole, type HeldRole } from "../access/roles.ts";
import { userForEmail } from "../access/store.ts";
import { insertEntry } from "../audit/store.ts";
import type { SystemTransaction } from "../postgres/database.ts";
import { offeredRole } from "./accept-invitation.ts";
import type { Assertion } from "./provider.ts";
import { roleOfGroups } from "./provider-settings.ts";
import * as provider from "./provider-store.ts";
import type { SignInError } from "./sign-in-error.ts";
import * as store from "./store.ts";

/** What a browser is sent to a provider for. */
export type Purpose =
  | { kind: "sign_in" }
  /** Accepts an invitation: the hash of its secret, in hexadecimal digits. */
  | { kind: "invitation"; hash: string }
  /** Lets a person who is signed in with an account sign in with the provider too. */
  | { kind: "connect"; userId: string };

export interface Arrival {
  settings: provider.SettingsRow;
  assertion: Assertion;
  purpose: Purpose;
  /** The person whose account is signed in with this browser. */
  person: store.PersonRow | undefined;
  callId: string;
}

/** A person who comes back, and is not signed in. The code is shown at /sign-in. */
export class NotAdmitted extends Error {
  readonly code: SignInError;
  constructor(code: SignInError) {
    super(code);
    this.code = code;
  }
}

/** The member who has arrived, whose sign-ins with the provider reach the organization now. Throws NotAdmitted. */
export async function admitArrival(tx: SystemTransaction, arrival: Arrival): Promise<string> {
  const { settings, assertion, purpose } = arrival;
  const { organization_id: organizationId } = settings;
  const key = [organizationId, assertion.issuer, assertion.subject] as const;
  let known = await tx.first(provider.lockIdentity, ...key);
  if (!known) {
    // The same person may arrive in two browsers at once.
    await tx.rows(provider.lockProvider, organizationId);
    known = await tx.first(provider.lockIdentity, ...key);
  }
  if (purpose.kind === "connect") return connect(tx, arrival, purpose.userId, known);
  const byGroup = roleOfGroups(settings, assertion.groups);
  if (known) {
    const hasGroupRole = known.group_role !== null && settings.groups_claim !== null;
    const isFollowing = hasGroupRole && !known.is_excepted;
    if (isFollowing && byGroup === null) throw new NotAdmitted("no_group");
    await reach(tx, organizationId, known.user_id);
    return known.user_id;
  }
  const userId =
    purpose.kind === "invitation"
      ? await acceptInvitation(tx, arrival, purpose.hash)
      : await joinByGroup(tx, arrival, byGroup);
  const groupRole = purpose.kind === "invitation" ? null : byGroup;
  await tx.rows(provider.insertIdentity, ...key, userId, groupRole);
  await reach(tx, organizationId, userId);
  return userId;
}

async function connect(
  tx: SystemTransaction,
  { settings, assertion, person, callId }: Arrival,
  userId: string,
  known: provider.IdentityRow | undefined,
): Promise<string> {
  const { organization_id: organizationId } = settings;
  // The person who began, in the same browser.
  if (person?.user_id !== userId) throw new NotAdmitted("other_account");
  const changed = await tx.first(provider.selectRoleChange, organizationId, person.sign_in_id);
  if (changed) throw new NotAdmitted("expired");
  // The account may be in the wrong hands, and must then not get around the provider.
  if (settings.required && verifiedEmail(assertion) !== person.email) {
    throw new NotAdmitted("other_address");
  }
  const member = await tx.first(provider.lockProviderMember, organizationId, userId);
  if (!member?.sign_in_key) throw new NotAdmitted("not_invited");
  if (known && known.user_id !== userId) throw new NotAdmitted("connected_already");
  if (!known) {
    const { issuer, subject } = assertion;
    await tx.rows(provider.insertIdentity, organizationId, issuer, subject, userId, null);
    writeEntry(tx, organizationId, userId, "connect_provider", {}, callId);
  }
  await reach(tx, organizationId, userId);
  return userId;
}

/**
 * An invitation and the provider name the same address. The inviter knows the link, and the manager of the provider
 * can assert any address, so a member who could act before has to connect the provider instead.
 */
async function acceptInvitation(
  tx: SystemTransaction,
  { settings, assertion, callId }: Arrival,
  hash: string,
): Promise<string> {
  const { organization_id: organizationId } = settings;
  const invitation = await tx.first(store.lockOpenInvitation, Buffer.from(hash, "hex"));
  if (invitation?.organization_id !== organizationId) throw new NotAdmitted("invitation_gone");
  const { email, name } = invitation;
  if (verifiedEmail(assertion) !== email) throw new NotAdmitted("other_address");
  const { role, rights } = await offeredRole(tx, invitation).catch((error: unknown) => {
    throw error instanceof Refusal ? new NotAdmitted("invitation_gone") : error;
  });
  const userId = (await tx.first(userForEmail, email))!.user_id;
  const former = await tx.first(provider.lockProviderMember, organizationId, userId);
  if (former?.has_had_keys) throw new NotAdmitted("connect_first");
  if (former) {
    const held = (await tx.first(store.lockMembership, organizationId, userId))!;
    if (!permissionsOf(held).every((each) => rights.includes(each))) {
      throw new NotAdmitted("invitation_gone");
    }
  } else {
    await insertMember(tx, organizationId, { userId, email, name: name ?? assertion.name, role });
  }
  await tx.rows(store.acceptInvitation, organizationId, invitation.invitation_id);
  const invitationId = formatId("invitation", invitation.invitation_id);
  const input = { email, role: role.role };
  writeEntry(tx, organizationId, userId, "accept_invitation", input, callId, { invitationId });
  return userId;
}

/** A person with a mapped group becomes a member, unless the address is one's already. */
async function joinByGroup(
  tx: SystemTransaction,
  { settings, assertion, callId }: Arrival,
  byGroup: string | null,
): Promise<string> {
  const { organization_id: organizationId } = settings;
  const email = verifiedEmail(assertion);
  const role = byGroup === null ? undefined : await existingRole(tx, organizationId, byGroup);
  if (!role || email === null) throw new NotAdmitted("not_invited");
  if (await tx.first(provider.selectMemberByEmail, organizationId, email)) {
    throw new NotAdmitted("not_invited");
  }
  const userId = (await tx.first(userForEmail, email))!.user_id;
  await insertMember(tx, organizationId, { userId, email, name: assertion.name, role });
  writeEntry(tx, organizationId, userId, "join_by_group", { email, role: role.role }, callId);
  return userId;
}

async function existingRole(
  tx: SystemTransaction,
  organizationId: string,
  name: string,
): Promise<HeldRole | undefined> {
  const role: HeldRole = { role: name, own_permissions: null };
  if (storedRole(role)[1] === null) return role;
  const own = await tx.first(store.selectInvitedRole, organizationId, name);
  return own && { role: name, own_permissions: own.permissions };
}

async function insertMember(
  tx: SystemTransaction,
  organizationId: string,
  member: { userId: string; email: string; name: string | null; role: HeldRole },
): Promise<void> {
  const { userId, email, name, role } = member;
  const shown = name === null ? null : [...name].slice(0, longestName).join("");
  const values = [organizationId, userId, email, shown, ...storedRole(role)];
  await tx.rows(store.insertInvitedMember, ...values);
}

/** As invitations and actions limit the names of members. */
const longestName = 120;

/** Creates the key that calls with the provider's sign-ins are made with. As with accounts, only the role limits it. */
async function reach(tx: SystemTransaction, organizationId: string, userId: string): Promise<void> {
  const member = await tx.first(provider.lockProviderMember, organizationId, userId);
  if (member?.provider_key) return;
  const key = await tx.first(store.insertSignInKey, organizationId, userId, permissionNames);
  await tx.rows(provider.setProviderKey, organizationId, userId, key!.api_key_id);
}

/**
 * In lower case; null if the provider asserts none that it has verified. Only ASCII, as in invitations: other letters
 * can become those of somebody else's address, as the Kelvin sign becomes a k.
 */
function verifiedEmail({ email, isEmailVerified }: Assertion): string | null {
  if (email === null || !isEmailVerified || email.length > 254) return null;
  return /^[!-?A-~]+@[!-?A-~]+$/.test(email) ? email.toLowerCase() : null;
}

function writeEntry(
  tx: SystemTransaction,
  organizationId: string,
  userId: string,
  action: string,
  input: object,
  callId: string,
  records: object = {},
): void {
  const all = { ...records, userId: formatId("user", userId) };
  const who = [organizationId, null, userId, null];
  tx.later(insertEntry, ...who, action, "done", input, all, callId, null);
}
