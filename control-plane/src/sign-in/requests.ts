// The requests of a page around signing in: their paths, bodies and answers, for the routes and for the OpenAPI
// document.
import { z } from "zod";
import { publishResult } from "../dispatch/published-schema.ts";
import { refusalResponses } from "../transports/openapi.ts";
import { deviceRequests } from "./device-requests.ts";
import { linkRequests } from "./link-requests.ts";
import { phoneRequests } from "./phone-requests.ts";
import { described, NewPassword } from "./request-fields.ts";
import type { SignInRequest } from "./sign-in-request.ts";

const Email = z.string().max(254).meta({ description: "The person's e-mail address." });
const Password = z.string().max(1000).meta({ description: "The present password." });
const Invitation = z
  .string()
  .max(200)
  .meta({ description: "What follows the # in the link of create_invitation." });
const PasskeyId = z.string().max(1_400).meta({ description: "From GET /api/sign-in." });
const Response = z
  .record(z.string(), z.unknown())
  .meta({ description: "What `toJSON()` of the browser's credential returns." });
const Options = z.record(z.string(), z.unknown()).meta({
  description: "For navigator.credentials; PublicKeyCredential parses them from JSON.",
});

const nothing = z.strictObject({});
const SignedIn = z.strictObject({ userId: described("The person who is signed in.") });
const Begun = z.strictObject({ options: Options });

/** Keeps the types of a body. */
const request = <Body extends z.ZodObject>(entry: SignInRequest<Body>): SignInRequest<Body> =>
  entry;

export const requests = {
  password: request({
    path: "/password",
    summary: "Sign in with a password.",
    body: z.strictObject({ email: Email, password: Password }),
    result: SignedIn,
  }),
  confirm: request({
    path: "/confirm",
    summary: "Show again who you are, for what needs a fresh sign-in.",
    body: z.strictObject({ password: Password }),
    result: SignedIn,
  }),
  changePassword: request({
    path: "/change-password",
    summary:
      "Change the password, and end every other sign-in. Passkeys stay unless they are removed too.",
    body: z.strictObject({
      password: Password,
      newPassword: NewPassword,
      removePasskeys: z
        .boolean()
        .meta({
          description:
            "Removes all passkeys too: somebody who knew the former password may have added one.",
        })
        .optional(),
    }),
    result: SignedIn.extend({
      passkeys: z.int().meta({ description: "How many passkeys still sign the person in." }),
    }),
  }),
  out: request({
    path: "/out",
    summary: "Sign out of this browser.",
    body: nothing,
    result: z.strictObject({ signedOut: z.literal(true).meta({ description: "Always true." }) }),
  }),
  readInvitation: request({
    path: "/invitations/read",
    summary: "Show what an invitation offers.",
    body: z.strictObject({ invitation: Invitation }),
    result: z.strictObject({
      organization: described("The name of the organization."),
      organizationId: described("For signing in with its provider."),
      email: described("Whom it invites."),
      name: z.string().nullable().meta({ description: "Null if none was set." }),
      role: described("The role that it grants."),
      createdBy: z.record(z.string(), z.unknown()).meta({ description: "Who invites." }),
      expiresAt: described("When the link stops working."),
    }),
  }),
  acceptInvitation: request({
    path: "/invitations/accept",
    summary: "Accept an invitation, with the account that is signed in or with a new one.",
    body: z.strictObject({
      invitation: Invitation,
      password: NewPassword.meta({ description: "The password for a new account." }).optional(),
      key: z
        .string()
        .max(200)
        .meta({
          description:
            "Only for a member who has keys: one of them that has every permission of the role.",
        })
        .optional(),
    }),
    result: z.strictObject({
      userId: described("The new member."),
      organizationId: described("The organization that the account reaches now."),
    }),
  }),
  beginPasskey: request({
    path: "/passkeys/begin",
    summary: "Begin to add a passkey. Needs a fresh sign-in.",
    body: nothing,
    result: Begun,
  }),
  addPasskey: request({
    path: "/passkeys/add",
    summary: "Add the passkey that the browser has made.",
    body: z.strictObject({ response: Response }),
    result: z.strictObject({ passkeyId: described("Its id.") }),
  }),
  removePasskey: request({
    path: "/passkeys/remove",
    summary: "Remove a passkey. Needs a fresh sign-in.",
    body: z.strictObject({ passkeyId: PasskeyId }),
    result: z.strictObject({
      passkeyId: described("Its id."),
      removed: z.literal(true).meta({ description: "Always true." }),
    }),
  }),
  beginPasskeySignIn: request({
    path: "/passkey/begin",
    summary: "Begin to sign in with a passkey.",
    body: nothing,
    result: Begun,
  }),
  beginProvider: request({
    path: "/provider/begin",
    summary: "Begin to sign in with the identity provider of an organization.",
    body: z.strictObject({
      organizationId: described("The organization, whose provider is asked."),
      invitation: Invitation.meta({ description: "Accepts this invitation too." }).optional(),
      connect: z
        .literal(true)
        .meta({
          description:
            "Lets the person who is signed in use the provider from now on. Needs a fresh sign-in.",
        })
        .optional(),
      again: z
        .boolean()
        .meta({
          description:
            "Lets the provider ask for a proof although the person is signed in there, for what needs a fresh sign-in.",
        })
        .optional(),
      renews: described(
        "The person whose sign-in is renewed. Nobody else is signed in, and the browser is led to /signed-in, for a window beside the page.",
      ).optional(),
      silent: z
        .boolean()
        .meta({
          description:
            "With `renews`: the provider asks nothing if the person is signed in there. Does not make a sign-in fresh.",
        })
        .optional(),
    }),
    result: z.strictObject({ url: described("Where the page sends the browser now.") }),
  }),
  passkey: request({
    path: "/passkey",
    summary: "Sign in with the answer of a passkey.",
    body: z.strictObject({ response: Response }),
    result: SignedIn,
  }),
};

export const signInPath = "/api/sign-in";

const Person = z.strictObject({
  user: z.strictObject({
    userId: described("The person, for the header X-Hawser-Person."),
    email: described("Their address."),
  }),
  signInId: described("As list_sign_ins names it."),
  expiresAt: described("When the person has to sign in again."),
  isOfProvider: z.boolean().meta({
    description:
      "Whether the identity provider of an organization has signed the person in. Then nothing about the account is shown.",
  }),
  hasPassword: z.boolean().meta({ description: "Whether the account has a password." }),
  passkeys: z.array(
    z.strictObject({
      passkeyId: described("For removing it."),
      device: described("The browser with which it was made, as it calls itself."),
      createdAt: described("When it was made."),
      lastUsedAt: z.string().nullable().meta({ description: "Null if it was never used." }),
    }),
  ),
  organizations: z.array(
    z.strictObject({
      organizationId: described("For the header X-Hawser-Organization."),
      name: described("The organization's name."),
      role: described("The person's role there."),
      memberName: z.string().nullable().meta({ description: "Null if none was set." }),
    }),
  ),
});

const Ways = z.strictObject({
  provider: z.boolean().meta({ description: "Whether the organization has an identity provider." }),
  required: z.boolean().meta({
    description: "Whether only its provider reaches the organization, except for a few owners.",
  }),
});

const refusals = refusalResponses([
  "invalid_input",
  "unauthenticated",
  "forbidden",
  "not_found",
  "other_person",
  "sign_in_first",
  "sign_in_again",
  "limit_reached",
  "last_owner",
  "passkeys_unavailable",
  "provider_failed",
  "payload_too_large",
  "rate_limited",
  "internal",
  "unavailable",
]);
const answer = (result: z.ZodObject) => ({
  200: {
    description: "Done.",
    content: { "application/json": { schema: publishResult(result) } },
  },
  ...refusals,
});
const fromPages =
  "For pages of this service: the browser's `Origin` or `Sec-Fetch-Site` must say so.";
const forPrograms = "For programs. A cookie does not count.";

/** For the OpenAPI document. */
export const signInPaths = {
  [signInPath]: {
    get: {
      operationId: "show_sign_in",
      tags: ["people"],
      summary:
        "Show who is signed in with this browser, and which organizations the sign-in reaches.",
      description: fromPages,
      security: [],
      responses: answer(Person),
    },
  },
  [`${signInPath}/ways`]: {
    get: {
      operationId: "show_ways_to_sign_in",
      tags: ["people"],
      summary: "Show whether people of an organization can or must sign in with a provider.",
      description: fromPages,
      security: [],
      parameters: [
        {
          name: "organization",
          in: "query",
          schema: { type: "string" },
          description: "The id of the organization.",
        },
      ],
      responses: answer(Ways),
    },
  },
  ...Object.fromEntries(
    Object.entries<SignInRequest>({
      ...requests,
      ...deviceRequests,
      ...linkRequests,
      ...phoneRequests,
    }).map(([name, { path, summary, isForPrograms, body, result }]) => [
      `${signInPath}${path}`,
      {
        post: {
          operationId: `sign_in_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
          tags: ["people"],
          summary,
          description: isForPrograms ? forPrograms : `${fromPages} Answers set cookies.`,
          security: [],
          requestBody: {
            required: true,
            content: { "application/json": { schema: publishResult(body) } },
          },
          responses: answer(result),
        },
      },
    ]),
  ),
};
