// The requests by which a program gets a key of a person who approves it in a browser.
import { z } from "zod";
import { described } from "./request-fields.ts";
import type { SignInRequest } from "./sign-in-request.ts";

const Code = z
  .string()
  .max(40)
  .meta({ description: "The code that the program shows, such as BCDF-GHJK." });
const Waiting = z.strictObject({
  name: described("What the program says about itself and its machine."),
  createdAt: described("When it asked."),
  expiresAt: described("When it stops waiting."),
});

export const deviceRequests = {
  beginDeviceLogin: {
    path: "/device/begin",
    summary: "Ask for a key of a person who approves it in a browser.",
    isForPrograms: true,
    body: z.strictObject({
      name: z
        .string()
        .min(1, "must not be empty")
        .max(100)
        .meta({ description: "The program and its machine: the name of the key." }),
    }),
    result: z.strictObject({
      deviceCode: described("For POST /device/poll. The program that has it gets the key."),
      userCode: described("For the person: eight letters, such as BCDF-GHJK."),
      verificationUrl: described("The page on which the person approves it."),
      intervalSeconds: z.int().meta({ description: "How long to pause between two polls." }),
      expiresInSeconds: z.int().meta({ description: "How long the code is good." }),
    }),
  },
  pollDeviceLogin: {
    path: "/device/poll",
    summary: "Ask whether the person has approved it, and get the key, once.",
    isForPrograms: true,
    body: z.strictObject({
      deviceCode: z.string().max(200).meta({ description: "From POST /device/begin." }),
    }),
    result: z.strictObject({
      state: z.enum(["pending", "slow_down", "refused", "expired", "approved"]).meta({
        description:
          "pending, slow_down: ask again, in the second case after a longer pause. refused: the person has refused it, or has signed out since. expired: the code was unknown, is too old, or was answered before.",
      }),
      key: z.string().meta({ description: "Only if approved: the key." }).optional(),
      apiKeyId: z.string().meta({ description: "Only if approved: its id." }).optional(),
    }),
  },
  readDeviceLogin: {
    path: "/device/read",
    summary: "Show which program asks for a key. Needs a fresh sign-in.",
    body: z.strictObject({ code: Code }),
    result: Waiting,
  },
  approveDeviceLogin: {
    path: "/device/approve",
    summary: "Let the program have a key of yours in one organization. Needs a fresh sign-in.",
    body: z.strictObject({
      code: Code,
      organizationId: described("An organization of GET /api/sign-in."),
    }),
    result: Waiting,
  },
  refuseDeviceLogin: {
    path: "/device/refuse",
    summary: "Let the program have no key. Needs a fresh sign-in.",
    body: z.strictObject({ code: Code }),
    result: Waiting,
  },
} satisfies Record<string, SignInRequest>;
