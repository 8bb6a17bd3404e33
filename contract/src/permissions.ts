// Permissions and roles. An action needs one permission. No permission includes another: edit does not
// include view.
import { z } from "zod";

/** All permissions, with what each allows. */
export const permissions = {
  "instances:view": "see hosts, their directories, repositories, agents and models",
  "instances:edit": "add, pair and rename hosts, and clone repositories onto them",
  "instances:delete": "remove hosts",
  "settings:edit": "install, update and restart agents and daemons, and set fallback chains",
  "sessions:view": "see sessions, their requests, exposures and schedules",
  "sessions:edit": "start, prompt, answer, push, share, end and delete sessions, and schedule them",
  "access:view": "see members, roles, API keys, webhooks, settings and the audit trail",
  "access:edit": "manage members, roles, API keys, webhooks and settings",
} as const;

export type Permission = keyof typeof permissions;

export const permissionNames = Object.keys(permissions) as Permission[];

export const PermissionName = z.enum(permissionNames).meta({ description: "A permission." });

/** Permissions of which each is named once. */
export const PermissionSet = z.array(PermissionName).check((context) => {
  if (new Set(context.value).size < context.value.length) {
    context.issues.push({
      code: "custom",
      input: context.value,
      message: "must name each permission once",
    });
  }
});

const product: Permission[] = [
  "instances:view",
  "instances:edit",
  "instances:delete",
  "settings:edit",
  "sessions:view",
  "sessions:edit",
];

/** The roles that every organization has: named sets of permissions. A user's key never exceeds its role. */
export const roles = {
  owner: permissionNames,
  member: product,
  viewer: ["instances:view", "sessions:view"],
} as const satisfies Record<string, readonly Permission[]>;

export type BuiltInRole = keyof typeof roles;

export const isBuiltInRole = (name: string): name is BuiltInRole => Object.hasOwn(roles, name);

/** A built-in role, or one of the organization's own. */
export const RoleName = z
  .string()
  .regex(/^[a-z0-9-]{1,40}$/, "must have 1 to 40 lower-case letters, digits and hyphens")
  .meta({ description: "owner, member, viewer, or a role of list_roles." });

/** The name of a role that an organization defines. */
export const OwnRoleName = RoleName.refine((name) => !isBuiltInRole(name), {
  error: "must not be owner, member or viewer, which cannot be changed",
}).meta({ description: "The name of the organization's own role." });

/**
 * The most that an agent key may have: reading, and starting and prompting sessions, of its own session
 * and those it started. Answering, exposing and shell are refused action by action (`closedToAgents`).
 */
export const agentKeyPermissions: readonly Permission[] = [
  "instances:view",
  "sessions:view",
  "sessions:edit",
];
