// Roles that follow the groups of a provider: applied when a person signs in, and each time that the provider is
// asked again.
import { Refusal, formatId } from "@hawser/contract";
import { revokeKeysOf } from "../access/keys.ts";
import { chosenRole, permissionsOf, storedRole } from "../access/roles.ts";
import * as access from "../access/store.ts";
import { insertEntry } from "../audit/store.ts";
import type { Database, TenantTransaction } from "../postgres/database.ts";
import { roleOfGroups } from "./provider-settings.ts";
import { selectSettings } from "./provider-store.ts";

export interface GroupsOfMember {
  organizationId: string;
  /** The settings of the provider that has reported the groups. */
  settingsId: string;
  userId: string;
  groups: readonly string[];
  callId: string;
}

/**
 * Gives the member the role of the first mapped group. Returns that role; null if there is none, or if the member does
 * not follow groups: the only owner and the excepted owners keep their role, so that no mistake at the provider takes
 * the organization from its people. Null also if the provider was replaced meanwhile: what a former one says must not
 * meet the groups that are mapped for its successor.
 */
export async function applyGroupRole(
  database: Pick<Database, "tenantTransaction">,
  { organizationId, settingsId, userId, groups, callId }: GroupsOfMember,
): Promise<string | null> {
  return database.tenantTransaction(organizationId, async (sql) => {
    await sql.rows(access.lockOrganization, organizationId);
    const [[settings], [member]] = await sql.together(
      { statement: selectSettings, values: [organizationId] },
      { statement: access.selectMember, values: [organizationId, userId] },
    );
    if (settings?.settings_id !== settingsId || !member) return null;
    const name = roleOfGroups(settings, groups);
    if (name === null) return null;
    if (member.role === "owner" && settings.except_user_ids.includes(userId)) return null;
    if (member.role === name) return name;
    const role = await chosenRole(sql, name).catch((error: unknown) => {
      // The role was deleted after it was mapped.
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (!role || (member.role === "owner" && (await isOnlyOwner(sql)))) return null;
    await sql.rows(access.updateMemberRole, organizationId, userId, ...storedRole(role));
    const by = { organizationId, apiKeyId: null, userId, sessionId: null };
    await revokeKeysOf({ sql, caller: by, callId }, [userId], permissionsOf(role));
    const records = { userId: formatId("user", userId) };
    const what = ["change_role_by_group", "done", { role: name }, records, callId];
    sql.later(insertEntry, organizationId, null, userId, null, ...what, null);
    return name;
  });
}

async function isOnlyOwner(sql: TenantTransaction): Promise<boolean> {
  return (await sql.rows(access.lockOwners, sql.organizationId)).length === 1;
}
