// The codes with which the service leads to /sign-in, for comparing them with what pages say. A code that is missing
// here, or is there no more, is an error of the compiler.
import type { SignInError } from "@hawser/control-plane/sign-in/sign-in-error.ts";

const codes: Record<SignInError, true> = {
  expired: true,
  settings_changed: true,
  not_invited: true,
  no_group: true,
  other_address: true,
  other_account: true,
  connect_first: true,
  connected_already: true,
  invitation_gone: true,
  unavailable: true,
  internal: true,
  issuer_invalid: true,
  issuer_mismatch: true,
  address_not_allowed: true,
  unreachable: true,
  answer_unreadable: true,
  answer_unverified: true,
  client_refused: true,
  grant_refused: true,
  sign_in_denied: true,
};

export const signInErrorCodes: string[] = Object.keys(codes);
