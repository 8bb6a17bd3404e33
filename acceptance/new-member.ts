// New members of the first organization.
import { roles } from "@hawser/contract";
import type { Context } from "./scenario.ts";

let emails = 0;
export const newEmail = () => `person${++emails}@acme.example`;

/** A new member, and a caller with their first key, which has every permission of their role. */
export async function newMember({ caller, world }: Context, role: keyof typeof roles) {
  const member = await caller.add_member({ email: newEmail(), role });
  const { key } = await caller.create_api_key({
    name: `key of a ${role}`,
    scope: "user",
    userId: member.userId,
    permissions: [...roles[role]],
  });
  return { ...member, key, as: world.callerFor(key) };
}
