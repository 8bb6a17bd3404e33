// The actions about the identities of a provider that are connected to members.
import { Refusal, formatId, notFound, type peopleActions } from "@hawser/contract";
import { beginRoleChange } from "../access/caller-now.ts";
import { findMember } from "../access/members.ts";
import { refuseWiderRole } from "../access/roles.ts";
import { firstId, page, readCursor } from "../cursor.ts";
import type { Handler } from "../dispatch/handler.ts";
import { ownersWays } from "./break-glass.ts";
import * as store from "./provider-store.ts";
import type { SignIns } from "./sign-ins.ts";

export interface IdentityServices {
  signIns: Pick<SignIns, "forget">;
}

type Actions = typeof peopleActions;
type IdentityHandlers = {
  [Name in "list_connected_identities" | "remove_connected_identity"]: Handler<
    Actions[Name],
    IdentityServices
  >;
};

export const identityHandlers: IdentityHandlers = {
  async list_connected_identities({ sql }, { userId, cursor, limit = 50 }) {
    const member = userId === undefined ? null : (await findMember(sql, userId)).user_id;
    const [issuer, subject, user] =
      cursor === undefined ? ["", "", firstId] : readCursor(cursor, 3);
    const values = [member, user, issuer, subject, limit + 1];
    const read = await sql.rows(store.selectConnectedIdentities, ...values);
    const { rows, nextCursor } = page(read, limit, (row) => [row.issuer, row.subject, row.user_id]);
    return {
      identities: rows.map((row) => ({
        userId: formatId("user", row.user_id),
        issuer: row.issuer,
        subject: row.subject,
        groupRole: row.group_role,
        connectedAt: row.created_at,
      })),
      nextCursor,
    };
  },

  async remove_connected_identity({ caller, sql, signIns }, { userId, issuer, subject }) {
    const now = await beginRoleChange(sql, caller);
    const member = await findMember(sql, userId);
    refuseWiderRole(now, member);
    const before = await ownersWays(sql);
    const removed = await sql.first(store.removeIdentity, member.user_id, issuer, subject);
    if (!removed) throw notFound("connected identity");
    const after = await ownersWays(sql);
    if (before.uses_provider && !after.uses_provider && !after.has_own_way) {
      throw new Refusal(
        "last_owner",
        "No owner could sign in any more. Let another owner sign in first, with the provider or otherwise.",
      );
    }
    sql.afterCommit(() => signIns.forget(member.user_id));
    return { userId: formatId("user", member.user_id), removed: true };
  },
};
