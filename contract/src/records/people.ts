// Records of people: invitations, sign-ins, and the organization's identity provider.
import { z } from "zod";
import { InvitationId, SignInId, UserId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { RoleName } from "../permissions.ts";
import { text } from "../text.ts";
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
    way: z.enum(["password", "passkey", "invitation", "provider", "device", "link"]).meta({
      description:
        "How the person signed in. invitation: by accepting one. provider: with single sign-on. device: with a code that another browser showed. link: with an operator's link.",
    }),
    device: z.string().meta({ description: "The browser, as it calls itself." }),
    isCurrent: z.boolean().meta({ description: "Whether this call was made with it." }),
    createdAt: CreatedAt,
    lastUsedAt: Instant.meta({ description: "To within five minutes." }),
    expiresAt: Instant.meta({ description: "When the person has to sign in again." }),
  })
  .meta({ id: "SignIn", description: "A browser in which a person is signed in." });
export type SignInRecord = z.infer<typeof SignInRecord>;

export const ConnectedIdentityRecord = z
  .strictObject({
    userId: UserId,
    issuer: z.string().meta({ description: "The provider, as it names itself." }),
    subject: z.string().meta({ description: "The person, as the provider names them." }),
    groupRole: RoleName.nullable().meta({
      description: "The role that a group of the person gave most recently; null if none did.",
    }),
    connectedAt: Instant.meta({ description: "When the person first signed in with it." }),
  })
  .meta({
    id: "ConnectedIdentity",
    description: "A person of an identity provider who signs in as a member.",
  });
export type ConnectedIdentityRecord = z.infer<typeof ConnectedIdentityRecord>;

export const GroupRole = z.strictObject({
  group: text({ min: 1, max: 200 }).meta({ description: "A group, as the claim names it." }),
  role: RoleName,
});

export const SignInSettingsRecord = z
  .strictObject({
    issuer: z.string().nullable().meta({ description: "Null if there is no provider." }),
    clientId: z
      .string()
      .nullable()
      .meta({ description: "The name of this service at the provider." }),
    redirectUri: z
      .string()
      .meta({ description: "The address to register at the provider for this service." }),
    groupsClaim: z.string().nullable().meta({ description: "The claim that lists groups." }),
    groupRoles: z.array(GroupRole).meta({ description: "The roles that groups give." }),
    required: z
      .boolean()
      .meta({ description: "Whether other ways of signing in do not reach the organization." }),
    exceptUserIds: z
      .array(UserId)
      .meta({ description: "Owners who may sign in otherwise although it is required." }),
    testedAt: Instant.nullable().meta({
      description: "When somebody last signed in with this provider; null: not yet.",
    }),
  })
  .meta({ id: "SignInSettings", description: "How people of an organization sign in." });
export type SignInSettingsRecord = z.infer<typeof SignInSettingsRecord>;
