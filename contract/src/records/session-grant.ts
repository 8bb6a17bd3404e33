// Records of grants: what single members may do with single sessions.
import { z } from "zod";
import { grantLevels } from "../action.ts";
import { SessionId } from "../ids.ts";
import { CreatedAt } from "../moments.ts";
import { Caller, UserReference } from "./actor.ts";

/** Each level includes those before it. */
export const GrantLevel = z.enum(grantLevels).meta({
  description:
    "view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it.",
});

export const SessionGrantRecord = z
  .strictObject({
    sessionId: SessionId,
    user: UserReference.meta({ description: "The member who has the grant." }),
    level: GrantLevel,
    byLink: z.boolean().meta({ description: "Whether the member got it by opening a link." }),
    grantedBy: Caller.meta({ description: "Who gave the grant, or made the link." }),
    createdAt: CreatedAt,
  })
  .meta({ id: "SessionGrant", description: "What a member may do with one session." });
export type SessionGrantRecord = z.infer<typeof SessionGrantRecord>;

export const SessionLinkRecord = z
  .strictObject({
    sessionId: SessionId,
    level: GrantLevel,
    createdBy: Caller,
    createdAt: CreatedAt,
  })
  .meta({ id: "SessionLink", description: "A link that members can open, without its token." });
export type SessionLinkRecord = z.infer<typeof SessionLinkRecord>;
