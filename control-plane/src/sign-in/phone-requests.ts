// The requests of a phone that a person lets in from another browser.
import { z } from "zod";
import { described } from "./request-fields.ts";
import type { SignInRequest } from "./sign-in-request.ts";

export const phoneRequests = {
  openPhone: {
    path: "/phone/open",
    summary: "Open the link of create_device_sign_in, and get the digits to show.",
    body: z.strictObject({
      link: z
        .string()
        .max(200)
        .meta({ description: "What follows the # in the link of create_device_sign_in." }),
    }),
    result: z.strictObject({
      digits: described("Four digits, which the person types in the other browser."),
      expiresAt: described("Until when they can be typed."),
    }),
  },
  enterPhone: {
    path: "/phone/enter",
    summary: "Ask whether the digits were typed, and sign in.",
    body: z.strictObject({}),
    result: z.strictObject({
      state: z.enum(["waiting", "signed_in", "over"]).meta({
        description:
          "waiting: ask again in two seconds. over: this browser has opened no link, or the digits were not typed in time.",
      }),
      userId: described("Only if signed in: the person.").optional(),
    }),
  },
} satisfies Record<string, SignInRequest>;
