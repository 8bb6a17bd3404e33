// The SQL of the roles that organizations define.
import type { Permission } from "@hawser/contract";
import { statement } from "../postgres/statement.ts";

export interface RoleRow {
  name: string;
  permissions: Permission[];
}

const roleColumns = `name, permissions`;

export const selectRoles = statement<RoleRow>(
  `SELECT ${roleColumns} FROM roles WHERE organization_id = $1 ORDER BY name`,
);

export const selectRole = statement<RoleRow>(
  `SELECT ${roleColumns} FROM roles WHERE organization_id = $1 AND name = $2`,
);

/** How many members each role has, the built-in ones included. */
export const countMembersByRole = statement<{ role: string; members: number }>(
  `SELECT coalesce(own_role, role) AS role, count(*)::int AS members FROM memberships
    WHERE organization_id = $1 GROUP BY 1`,
);

export const selectMembersWithRole = statement<{ user_id: string }>(
  `SELECT user_id FROM memberships WHERE organization_id = $1 AND own_role = $2`,
);

/** No row if the organization has a role of this name. */
export const insertRole = statement<RoleRow>(
  `INSERT INTO roles (organization_id, name, permissions) VALUES ($1, $2, $3)
   ON CONFLICT (organization_id, name) DO NOTHING
   RETURNING ${roleColumns}`,
);

export const updateRole = statement<RoleRow>(
  `UPDATE roles SET permissions = $3 WHERE organization_id = $1 AND name = $2 RETURNING ${roleColumns}`,
);

export const deleteRole = statement(`DELETE FROM roles WHERE organization_id = $1 AND name = $2`);
