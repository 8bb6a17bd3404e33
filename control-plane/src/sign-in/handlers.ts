// The actions about invitations, and about a person's own sign-ins. sign-in/routes.ts has what people do before they
// are signed in.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  type InvitationRecord,
  type peopleActions,
  type SignInRecord,
} from "@hawser/contract";
import { callerReference } from "../access/caller-reference.ts";
import { refuseNarrowKey } from "../access/keys.ts";
import { findMember } from "../access/members.ts";
import { beginRoleChange } from "../access/caller-now.ts";
import { chosenRole, refuseWiderRole } from "../access/roles.ts";
import { hashSecret, makeSecretText, secretPrefixes } from "../access/secret-text.ts";
import { page, readIdCursor } from "../cursor.ts";
import type { Caller } from "../dispatch/caller.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { identityHandlers } from "./identity-handlers.ts";
import { phoneHandlers, type PhoneServices } from "./phone-handlers.ts";
import { providerHandlers, type ProviderServices } from "./provider-handlers.ts";
import type { SignIns } from "./sign-ins.ts";
import * as store from "./store.ts";

export interface PeopleServices extends PhoneServices, ProviderServices {
  signIns: Pick<SignIns, "forget">;
}

/** For how long an invitation can be accepted. */
const invitationHours = 72;
/** Counts the invitations of the last four days. Older ones are deleted, a day after their end. */
const mostInvitations = 1_000;

export const peopleHandlers: HandlersFor<typeof peopleActions, PeopleServices> = {
  ...providerHandlers,
  ...phoneHandlers,
  ...identityHandlers,

  async create_invitation({ caller, sql, baseUrl }, { email, name, role }) {
    refuseWiderRole(await beginRoleChange(sql, caller), await chosenRole(sql, role));
    const known = await sql.first(store.countInvitations, sql.organizationId, mostInvitations);
    if (known!.count >= mostInvitations) {
      throw new Refusal(
        "limit_reached",
        `The organization has made ${mostInvitations} invitations in the last four days, which is the maximum. Wait, or let people join with an identity provider.`,
      );
    }
    const secret = makeSecretText(secretPrefixes.invitation);
    const row = await sql.first(
      store.insertInvitation,
      sql.organizationId,
      hashSecret(secret),
      email,
      name || null,
      role,
      await callerReference(sql, caller),
      caller.apiKeyId,
      invitationHours,
    );
    return { invitation: invitationRecord(row!), url: invitationUrl(baseUrl, secret) };
  },

  async list_invitations({ sql }, { cursor, limit = 50 }) {
    const before = readIdCursor(cursor);
    const read = await sql.rows(store.selectInvitations, sql.organizationId, before, limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.invitation_id]);
    return { invitations: rows.map(invitationRecord), nextCursor };
  },

  async revoke_invitation({ sql }, { invitationId }) {
    const id = parseId("invitation", invitationId);
    const row = id && (await sql.first(store.lockInvitation, sql.organizationId, id));
    if (!row) throw notFound("invitation");
    if (row.accepted_at !== null) {
      throw new Refusal(
        "already_accepted",
        "This invitation was accepted. Remove the member with remove_member.",
      );
    }
    return invitationRecord((await sql.first(store.revokeInvitation, sql.organizationId, id))!);
  },

  async list_sign_ins({ caller, sql }) {
    const rows = await sql.rows(store.selectSignIns, await personOf({ caller, sql }));
    return {
      signIns: rows.map((row) => ({
        ...signInRecord(row),
        isCurrent: row.sign_in_id === caller.signIn?.signInId,
      })),
    };
  },

  async revoke_sign_in({ caller, sql, signIns }, { signInId }) {
    if (caller.userId === null) throw notFound("sign-in");
    const userId = await personOf({ caller, sql });
    const id = parseId("signIn", signInId);
    const ended = id && (await sql.first(store.endOwnSignIn, userId, id));
    if (!ended) throw notFound("sign-in");
    sql.afterCommit(() => signIns.forget(userId));
    return { signInId, revoked: true };
  },
};

/** A link whose secret is in its fragment, which browsers send to no server. */
function invitationUrl(baseUrl: string, secret: string): string {
  return `${baseUrl}/invite#${secret}`;
}

/**
 * The person whose sign-ins an action is about. Sign-ins reach all organizations of the person, and whoever adds a
 * member of one may create the member's first key. So only keys count that the person has made in a browser.
 */
async function personOf({ caller, sql }: { caller: Caller; sql: TenantSql }): Promise<string> {
  const { userId, signIn } = caller;
  if (userId === null) {
    throw new Refusal(
      "user_key_required",
      "Sign-ins belong to a person, and this key belongs to the organization.",
    );
  }
  if (signIn?.isOfProvider) {
    throw new Refusal(
      "forbidden",
      "The provider of this organization has signed you in. Sign-ins belong to your account: sign in with your password or a passkey.",
    );
  }
  if (signIn) return userId;
  refuseNarrowKey(caller, await findMember(sql, formatId("user", userId)));
  const made = await sql.first(store.selectKeyOfSignIn, sql.organizationId, caller.apiKeyId);
  if (made) return userId;
  throw new Refusal(
    "forbidden",
    "Somebody else may have made this key. Call in a browser in which you are signed in, or with a key that you have created there.",
  );
}

function invitationRecord(row: store.InvitationRow): InvitationRecord {
  return {
    invitationId: formatId("invitation", row.invitation_id),
    email: row.email,
    name: row.name,
    role: row.role,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

function signInRecord(row: store.SignInRow): Omit<SignInRecord, "isCurrent"> {
  return {
    signInId: formatId("signIn", row.sign_in_id),
    way: row.way,
    device: row.device,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
