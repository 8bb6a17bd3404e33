// The requests of somebody who has opened an operator's link.
import { z } from "zod";
import { described, NewPassword } from "./request-fields.ts";
import type { SignInRequest } from "./sign-in-request.ts";

const Link = z
  .string()
  .max(200)
  .meta({ description: "What follows the # in the link that the operator was shown." });

export const linkRequests = {
  readLink: {
    path: "/first/read",
    summary: "Show whom an operator's link signs in.",
    body: z.strictObject({ link: Link }),
    result: z.strictObject({
      organization: described("The name of the organization."),
      email: described("Its owner's e-mail address."),
      expiresAt: described("When the link stops working."),
      hasPassword: z
        .boolean()
        .meta({ description: "Whether the account has a password. Then none can be set." }),
    }),
  },
  useLink: {
    path: "/first",
    summary: "Sign in with an operator's link, once.",
    body: z.strictObject({
      link: Link,
      password: NewPassword.meta({
        description: "The password for the next time; without one, add a passkey.",
      }).optional(),
    }),
    result: z.strictObject({ userId: described("The person who is signed in.") }),
  },
} satisfies Record<string, SignInRequest>;
