// Roles of an organization's own. Whoever creates, changes or deletes one needs all of its permissions, so nobody
// can widen a role beyond what they may do themselves.
import {
  Refusal,
  notFound,
  permissionNames,
  roles,
  type BuiltInRole,
  type Permission,
  type roleActions,
} from "@hawser/contract";
import type { HandlersFor } from "../dispatch/handler.ts";
import { beginRoleChange } from "./caller-now.ts";
import { revokeKeysOf, type KeyServices } from "./keys.ts";
import * as store from "./role-store.ts";
import { refuseWiderRole, roleRecord } from "./roles.ts";

const mostRoles = 50;

export const roleHandlers: HandlersFor<typeof roleActions, KeyServices> = {
  async list_roles({ sql }) {
    const [rows, counts] = await sql.together(
      { statement: store.selectRoles, values: [sql.organizationId] },
      { statement: store.countMembersByRole, values: [sql.organizationId] },
    );
    const members = new Map(counts.map(({ role, members }) => [role, members]));
    const countOf = (name: string) => members.get(name) ?? 0;
    const builtIn = (Object.keys(roles) as BuiltInRole[]).map((name) => ({
      name,
      builtIn: true,
      permissions: [...roles[name]],
      memberCount: countOf(name),
    }));
    return { roles: [...builtIn, ...rows.map((row) => roleRecord(row, countOf(row.name)))] };
  },

  async create_role({ caller, sql }, { name, permissions }) {
    const now = await beginRoleChange(sql, caller);
    refuseWiderRole(now, { role: name, own_permissions: permissions });
    const existing = await sql.rows(store.selectRoles, sql.organizationId);
    if (existing.some((each) => each.name === name)) {
      throw new Refusal(
        "already_exists",
        `The organization has a role ${name}. Change it with update_role, or choose another name.`,
      );
    }
    if (existing.length >= mostRoles) {
      throw new Refusal(
        "limit_reached",
        `The organization has ${mostRoles} roles of its own, which is the maximum. Delete one with delete_role first.`,
      );
    }
    const row = await sql.first(store.insertRole, sql.organizationId, name, inOrder(permissions));
    return roleRecord(row!, 0);
  },

  async update_role(context, { name, permissions }) {
    const { caller, sql, authenticator } = context;
    const now = await beginRoleChange(sql, caller);
    const role = await sql.first(store.selectRole, sql.organizationId, name);
    if (!role) throw notFound("role");
    refuseWiderRole(now, { role: name, own_permissions: role.permissions });
    refuseWiderRole(now, { role: name, own_permissions: permissions });
    const row = await sql.first(store.updateRole, sql.organizationId, name, inOrder(permissions));
    const members = await sql.rows(store.selectMembersWithRole, sql.organizationId, name);
    const userIds = members.map(({ user_id }) => user_id);
    if (userIds.length > 0) await revokeKeysOf(context, userIds, permissions);
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    return roleRecord(row!, members.length);
  },

  async delete_role({ caller, sql }, { name }) {
    const now = await beginRoleChange(sql, caller);
    const role = await sql.first(store.selectRole, sql.organizationId, name);
    if (!role) throw notFound("role");
    refuseWiderRole(now, { role: name, own_permissions: role.permissions });
    const { length } = await sql.rows(store.selectMembersWithRole, sql.organizationId, name);
    if (length > 0) {
      throw new Refusal(
        "role_in_use",
        `${length === 1 ? "1 member has" : `${length} members have`} the role ${name}. Give them another role with update_member first.`,
      );
    }
    await sql.rows(store.deleteRole, sql.organizationId, name);
    return { name, deleted: true };
  },
};

/** In the order of the contract, so that a role looks the same whoever wrote it. */
const inOrder = (permissions: readonly Permission[]) =>
  permissionNames.filter((each) => permissions.includes(each));
