// The actions with which a signed-in person lets a phone in; phone-routes.ts has the phone's side. Only a browser's
// sign-in may do it, because the phone gets a sign-in like it, and a key has none.
import { Refusal, type peopleActions } from "@hawser/contract";
import { hashSecret, makeSecretText, secretPrefixes } from "../access/secret-text.ts";
import type { Caller, CallersSignIn } from "../dispatch/caller.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import { hashDigits, phoneSeconds } from "./phone-digits.ts";
import * as store from "./phone-store.ts";

export interface PhoneServices {
  /** For the digests of digits. */
  signInSecret: Buffer;
  /** The address of this service, for links. */
  baseUrl: string;
}

/** How long a phone whose digits were right has to enter. */
const enterSeconds = 60;

type PhoneActions = Pick<typeof peopleActions, "create_device_sign_in" | "confirm_device_sign_in">;

export const phoneHandlers: HandlersFor<PhoneActions, PhoneServices> = {
  async create_device_sign_in({ caller, sql, baseUrl }) {
    const { signInId } = signInOf(caller);
    const secret = makeSecretText(secretPrefixes.phoneLink);
    const values = [signInId, hashSecret(secret), phoneSeconds];
    const made = await sql.first(store.insertDeviceSignIn, ...values);
    return { url: `${baseUrl}/phone#${secret}`, expiresAt: made!.expires_at };
  },

  // Wrong digits are a result, because a refusal would undo the count.
  async confirm_device_sign_in({ caller, sql, signInSecret }, { digits }) {
    const { signInId } = signInOf(caller);
    const values = [signInId, hashDigits(signInSecret, signInId, digits), enterSeconds];
    const row = (await sql.first(store.confirmDeviceSignIn, ...values))!;
    return { state: row.state, triesLeft: row.tries_left, device: row.device };
  },
};

function signInOf({ signIn }: Caller): CallersSignIn {
  if (signIn?.isOfProvider) {
    throw new Refusal(
      "forbidden",
      "The provider of this organization has signed you in, and only it signs in your other devices too. Open the address of this service there, and sign in with the provider.",
    );
  }
  if (signIn) return signIn;
  throw new Refusal(
    "sign_in_first",
    "A phone is let in by a browser in which you are signed in, and this call was made with a key. Sign in with a browser first.",
  );
}
