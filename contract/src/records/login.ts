// A login attempt: linking a user's agent account to a host, from the address for the browser until it
// is done or has failed.
import { z } from "zod";
import { InstanceId, LoginId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { LinkableKind } from "./agent-kind.ts";

export const LoginFlow = z.enum(["paste_code", "device_code"]);
export type LoginFlow = z.infer<typeof LoginFlow>;

export const LoginRecord = z
  .strictObject({
    loginId: LoginId,
    instanceId: InstanceId,
    kind: LinkableKind,
    flow: LoginFlow.meta({
      description:
        "paste_code: hand the code the browser shows to submit_agent_login. device_code: type `userCode` into the page and poll.",
    }),
    authorizationUrl: z.string().meta({ description: "The page to open in a browser." }),
    userCode: z.string().nullable().meta({ description: "Set in the device_code flow only." }),
    status: z.enum(["pending", "done", "error"]).meta({ description: "How far the attempt is." }),
    error: z.string().nullable().meta({ description: "Why it failed." }),
    account: z.string().nullable().meta({ description: "The linked account, when done." }),
    expiresAt: Instant.nullable().meta({ description: "When the account's login expires." }),
  })
  .meta({ id: "LoginAttempt", description: "An attempt to link an agent account to a host." });
export type LoginRecord = z.infer<typeof LoginRecord>;
