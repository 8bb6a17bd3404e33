// A request that is no action and needs a fresh sign-in: it asks the person to sign in, as calls of actions do.
import { isRefused, type Refused } from "./refused.ts";
import { request } from "./request.ts";
import { askToSignIn, signInsSoFar } from "./sign-in-again.ts";

/** Throws as `request`. Without a sign-in, or with one that is too old, it goes on once the person has signed in. */
export async function requestSignedIn<Answer>(path: string, body: object): Promise<Answer> {
  for (;;) {
    const soFar = signInsSoFar();
    try {
      return await request<Answer>(path, body);
    } catch (error) {
      if (!isRefused(error, "unauthenticated") && !isRefused(error, "sign_in_again")) throw error;
      await askToSignIn(error as Refused, soFar);
    }
  }
}
