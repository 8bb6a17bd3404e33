// Exposures: direct access to a host or one session for a limited time. Only the results of
// create_exposure and create_preview contain the password.
import { z } from "zod";
import { ExposureId, InstanceId, SessionId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { Caller } from "./actor.ts";

/** A port of the host on which a process of a session listens. */
export const SessionPort = z.int().min(1).max(65_535);

const recorded = {
  exposureId: ExposureId,
  instanceId: InstanceId,
  scope: z.enum(["instance", "session"]).meta({ description: "The whole host, or one session." }),
  sessionId: SessionId.nullable().meta({
    description: "The one session it gives access to; null for the whole host.",
  }),
  port: SessionPort.nullable().meta({
    description: "For a preview: the port of the session's server; null for opencode.",
  }),
  createdBy: Caller,
  createdAt: CreatedAt,
  expiresAt: Instant.meta({ description: "When the access ends." }),
  lastUsedAt: Instant.nullable().meta({ description: "Null if it was never used." }),
};

const login = {
  url: z.string().meta({ description: "The address to open in a browser." }),
  username: z.string().meta({ description: "The user name to log in with." }),
  password: z.string().meta({ description: "Shown only here." }),
};

export const ExposureRecord = z.strictObject(recorded).meta({
  id: "Exposure",
  description: "Direct access to a host or one session, for a limited time.",
});
export type ExposureRecord = z.infer<typeof ExposureRecord>;

export const NewExposure = z
  .strictObject({
    ...recorded,
    ...login,
    attachCommand: z.string().meta({ description: "Connects an opencode terminal client." }),
  })
  .meta({ id: "NewExposure", description: "An exposure with its credentials, shown once." });
export type NewExposure = z.infer<typeof NewExposure>;

export const NewPreview = z
  .strictObject({
    ...recorded,
    port: SessionPort.meta({ description: "The port of the session's server." }),
    ...login,
  })
  .meta({ id: "NewPreview", description: "A preview with its credentials, shown once." });
export type NewPreview = z.infer<typeof NewPreview>;
