// What roles allow: the built-in ones by the contract, an organization's own ones by their rows.
import { Refusal, isBuiltInRole, roles, type Permission, type RoleRecord } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { selectRole, type RoleRow } from "./role-store.ts";

/** A role as rows of members have it. */
export interface HeldRole {
  role: string;
  /** Null for a built-in role. */
  own_permissions: Permission[] | null;
}

/** None for a role that this version does not know. */
export function permissionsOf({ role, own_permissions }: HeldRole): readonly Permission[] {
  return own_permissions ?? (isBuiltInRole(role) ? roles[role] : []);
}

/** The role that a caller names in `field`. Throws `invalid_input` if the organization has no such role. */
export async function chosenRole(sql: TenantSql, name: string, field = "role"): Promise<HeldRole> {
  if (isBuiltInRole(name)) return { role: name, own_permissions: null };
  const row = await sql.first(selectRole, sql.organizationId, name);
  if (row) return { role: row.name, own_permissions: row.permissions };
  const message = "must be owner, member, viewer, or a role that list_roles lists";
  throw new Refusal("invalid_input", `The role ${message}.`, {
    fields: [{ field, message }],
  });
}

/** The columns `role` and `own_role` of a member. An earlier version reads the first one only. */
export const storedRole = ({ role }: HeldRole): [role: string, ownRole: string | null] =>
  isBuiltInRole(role) ? [role, null] : ["viewer", role];

/** Throws `forbidden` if the caller lacks a permission of the role. */
export function refuseWiderRole(caller: Caller, held: HeldRole): void {
  const missing = permissionsOf(held).filter((permission) => !caller.permissions.has(permission));
  if (missing.length === 0) return;
  throw new Refusal(
    "forbidden",
    `Granting, changing or removing the role ${held.role} needs every permission it holds; this key lacks ${missing.join(", ")}.`,
  );
}

export function roleRecord({ name, permissions }: RoleRow, memberCount: number): RoleRecord {
  return { name, builtIn: false, permissions, memberCount };
}
