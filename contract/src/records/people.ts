// Records of people: invitations and sign-ins.
import { z } from "zod";
import { InvitationId, SignInId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { RoleName } from "../permissions.ts";
import { Caller } from "./actor.ts";

export const InvitationRecord = z
  .strictObject({
    invitationId: InvitationId,
    email: z.string().meta({ description: "Whom it invites." }),
    name: z.string().nullable().meta({ description: "Null if none was set." }),
    role: RoleName,
    createdBy: Caller,
    createdAt: CreatedAt,
    expiresAt: Instant.meta({ description: "When its link stops working." }),
  })
  .meta({ id: "Invitation", description: "An invitation that nobody has accepted yet." });
export type InvitationRecord = z.infer<typeof InvitationRecord>;

export const SignInRecord = z
  .strictObject({
    signInId: SignInId,
    way: z
      .enum(["password", "passkey", "invitation"])
      .meta({ description: "How the person signed in. invitation: by accepting one." }),
    device: z.string().meta({ description: "The browser, as it calls itself." }),
    isCurrent: z.boolean().meta({ description: "Whether this call was made with it." }),
    createdAt: CreatedAt,
    lastUsedAt: Instant.meta({ description: "To within five minutes." }),
    expiresAt: Instant.meta({ description: "When the person has to sign in again." }),
  })
  .meta({ id: "SignIn", description: "A browser in which a person is signed in." });
export type SignInRecord = z.infer<typeof SignInRecord>;
