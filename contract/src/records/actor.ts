// Actors: the part of a record that names a user, a key or a schedule.
import { z } from "zod";
import { UserId } from "../ids.ts";

const named = { id: z.string(), name: z.string() };

/** A caller: a user, or a key of the organization. */
export const Caller = z.strictObject({ type: z.enum(["user", "organization_key"]), ...named });
export type Caller = z.infer<typeof Caller>;

/** Who started a session: a caller or a schedule. */
export const Starter = z.strictObject({
  type: z.enum(["user", "organization_key", "schedule"]),
  ...named,
});
export type Starter = z.infer<typeof Starter>;

/** A user, as other records name them. */
export const UserReference = z.strictObject({ userId: UserId, name: z.string() });
export type UserReference = z.infer<typeof UserReference>;
