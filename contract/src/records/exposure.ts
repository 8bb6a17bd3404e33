// Exposures: direct access to a host or one session for a limited time. Only the result of
// create_exposure contains the password.
import { z } from "zod";
import { ExposureId, InstanceId, SessionId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { Caller } from "./actor.ts";

const recorded = {
  exposureId: ExposureId,
  instanceId: InstanceId,
  scope: z.enum(["instance", "session"]).meta({ description: "The whole host, or one session." }),
  sessionId: SessionId.nullable().meta({
    description: "The one session it gives access to; null for the whole host.",
  }),
  createdBy: Caller,
  createdAt: CreatedAt,
  expiresAt: Instant.meta({ description: "When the access ends." }),
  lastUsedAt: Instant.nullable().meta({ description: "Null if it was never used." }),
};

export const ExposureRecord = z.strictObject(recorded).meta({
  id: "Exposure",
  description: "Direct access to a host or one session, for a limited time.",
});
export type ExposureRecord = z.infer<typeof ExposureRecord>;

export const NewExposure = z
  .strictObject({
    ...recorded,
    url: z.string().meta({ description: "The address to open in a browser." }),
    username: z.string().meta({ description: "The user name to log in with." }),
    password: z.string().meta({ description: "Shown only here." }),
    attachCommand: z.string().meta({ description: "Connects an opencode terminal client." }),
  })
  .meta({ id: "NewExposure", description: "An exposure with its credentials, shown once." });
export type NewExposure = z.infer<typeof NewExposure>;
