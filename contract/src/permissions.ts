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
  "sessions:edit": "start, prompt, answer, push, end and delete sessions, and schedule them",
  "access:view": "see members, API keys, webhooks, settings and the audit trail",
  "access:edit": "manage members, API keys, webhooks and settings",
} as const;

export type Permission = keyof typeof permissions;

export const permissionNames = Object.keys(permissions) as Permission[];

export const PermissionName = z.enum(permissionNames).meta({ description: "A permission." });

const product: Permission[] = [
  "instances:view",
  "instances:edit",
  "instances:delete",
  "settings:edit",
  "sessions:view",
  "sessions:edit",
];

/** The roles a member can have: named sets of permissions. A user's key never exceeds its role. */
export const roles = {
  owner: permissionNames,
  member: product,
  viewer: ["instances:view", "sessions:view"],
} as const satisfies Record<string, readonly Permission[]>;

export type Role = keyof typeof roles;

export const RoleName = z.enum(Object.keys(roles) as Role[]).meta({
  description:
    "owner: every permission. member: everything but access. viewer: sees hosts and sessions.",
});

/**
 * The most that an agent key may have: reading, and starting and prompting sessions, of its own session
 * and those it started. Answering, exposing and shell are refused action by action (`closedToAgents`).
 */
export const agentKeyPermissions: readonly Permission[] = [
  "instances:view",
  "sessions:view",
  "sessions:edit",
];
