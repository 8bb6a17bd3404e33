// Roles that an organization defines from the permissions there are. Nobody can give a role a permission that
// they lack.
import { z } from "zod";
import { action } from "../action.ts";
import { OwnRoleName, PermissionSet } from "../permissions.ts";
import { RoleRecord } from "../records/access.ts";

const Permissions = PermissionSet.meta({
  uniqueItems: true,
  description: "What members with the role may do; can be empty.",
});

export const roleActions = {
  list_roles: action({
    summary: "List the roles that members can have, the built-in ones first.",
    group: "people",
    permission: "access:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({ roles: z.array(RoleRecord) }),
    refusals: [],
    closedToAgents: true,
  }),

  create_role: action({
    summary: "Define a role of the organization.",
    details: "The calling key needs every permission of the role.",
    group: "people",
    permission: "access:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ name: OwnRoleName, permissions: Permissions }),
    result: RoleRecord,
    refusals: ["already_exists", "limit_reached"],
    closedToAgents: true,
  }),

  update_role: action({
    summary: "Replace the permissions of a role of the organization.",
    details:
      "The calling key needs every permission that the role has before and after. The keys of members with the role never exceed it. Organization keys that they created are revoked if they do.",
    group: "people",
    permission: "access:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ name: OwnRoleName, permissions: Permissions }),
    result: RoleRecord,
    refusals: ["not_found"],
    needsFreshSignIn: true,
    closedToAgents: true,
  }),

  delete_role: action({
    summary: "Delete a role of the organization that no member has.",
    details: "The calling key needs every permission of the role.",
    group: "people",
    permission: "access:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ name: OwnRoleName }),
    result: z.strictObject({
      name: OwnRoleName,
      deleted: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found", "role_in_use"],
    closedToAgents: true,
  }),
};
