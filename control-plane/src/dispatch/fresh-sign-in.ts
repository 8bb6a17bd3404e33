// What gives lasting access needs a sign-in of the last minutes (N27): a browser that somebody left open is no proof.
import { Refusal } from "@hawser/contract";

const freshMs = 5 * 60_000;

/** The refusal of a person who proved who they are this long ago; undefined if that is short enough. */
export function staleSignIn(authenticatedForMs: number): Refusal | undefined {
  if (authenticatedForMs <= freshMs) return undefined;
  return new Refusal(
    "sign_in_again",
    "This needs a sign-in of the last five minutes. Confirm with POST /api/sign-in/confirm who you are, or sign in again, and then repeat it.",
  );
}
