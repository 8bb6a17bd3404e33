// Actors: the part of a record that names a user, a key, a schedule or a trigger.
import { z } from "zod";
import { UserId } from "../ids.ts";

const named = {
  id: z.string().meta({ description: "The id of the user, the key, the schedule or the trigger." }),
  name: z.string().meta({ description: "Its name, to show to people." }),
};

/** A caller: a user, or a key of the organization. */
export const Caller = z
  .strictObject({
    type: z.enum(["user", "organization_key"]).meta({ description: "What the caller is." }),
    ...named,
  })
  .meta({ description: "A user, or a key of the organization." });
export type Caller = z.infer<typeof Caller>;

/** Who started a session: a caller, a schedule or a trigger. */
export const Starter = z
  .strictObject({
    type: z
      .enum(["user", "organization_key", "schedule", "trigger"])
      .meta({ description: "What started it." }),
    ...named,
  })
  .meta({
    description: "Who started it: a user, a key of the organization, a schedule, or a trigger.",
  });
export type Starter = z.infer<typeof Starter>;

/** A user, as other records name them. */
export const UserReference = z
  .strictObject({ userId: UserId, name: z.string().meta({ description: "The user's name." }) })
  .meta({ description: "A user of the organization." });
export type UserReference = z.infer<typeof UserReference>;
