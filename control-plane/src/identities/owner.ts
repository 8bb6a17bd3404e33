// Owner ids: the name under which a host stores a person's agent accounts. It names a person for as long as
// they are a member, so nobody can use a login by removing its user and adding them again.
import { Refusal, formatId, parseId } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";

interface Joined {
  user_id: string;
  /** When the user became a member. */
  created_at: string;
}

export const makeOwnerId = ({ user_id, created_at }: Joined) =>
  `${formatId("user", user_id)}.${Date.parse(created_at)}`;

/** The stored id of the user; undefined if the text is not an owner id. */
export function userOfOwner(ownerId: string): string | undefined {
  const [, shownId] = /^(\w+)\.\d{1,16}$/.exec(ownerId) ?? [];
  return (shownId !== undefined && parseId("user", shownId)) || undefined;
}

/** Null for keys of organizations and agents: they never use a person's account. */
export function ownerIdOf({ scope, userId, joinedAt }: Caller): string | null {
  if (scope !== "user" || userId === null || joinedAt === null) return null;
  return makeOwnerId({ user_id: userId, created_at: joinedAt });
}

/** Throws `user_key_required` if the caller is not a user. */
export function requireUser({ scope, userId }: Caller): string {
  if (scope === "user" && userId !== null) return userId;
  throw new Refusal(
    "user_key_required",
    "Agent accounts belong to users, and this key belongs to no user. Call with a key of the user's own.",
  );
}
