// A call found no sign-in, or one that is too old. The page stays; the shell asks the person to sign in, and all
// calls that wait go on afterwards.
import type { Refused } from "./refused.ts";

/** Resolves when the person has signed in. */
type Ask = (reason: Refused) => Promise<void>;

let ask: Ask | undefined;
let asking: Promise<void> | undefined;
/** How often the person has signed in while this page was open. */
let signedIn = 0;

/** The shell answers from now on. Returns how to stop. */
export function answerSignIn(by: Ask): () => void {
  ask = by;
  return () => {
    if (ask === by) ask = undefined;
  };
}

/** Take it before a request is sent, for `askToSignIn`. */
export const signInsSoFar = (): number => signedIn;

/**
 * Asks once for all calls. No-op if the person has signed in since the request was sent. Throws the reason if nobody
 * can be asked.
 */
export async function askToSignIn(reason: Refused, soFar: number): Promise<void> {
  if (soFar < signedIn) return;
  if (!ask) throw reason;
  asking ??= ask(reason)
    .then(() => void (signedIn += 1))
    .finally(() => (asking = undefined));
  await asking;
}
