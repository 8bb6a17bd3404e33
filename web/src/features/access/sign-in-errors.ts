// A sentence for each code with which single sign-on leads back to /sign-in.
import { words, type WordId } from "../../words/words.ts";

export const signInErrors = {
  expired: "sign_in.sso.expired",
  settings_changed: "sign_in.sso.settings_changed",
  not_invited: "sign_in.sso.not_invited",
  no_group: "sign_in.sso.no_group",
  other_address: "sign_in.sso.other_address",
  other_account: "sign_in.sso.other_account",
  connect_first: "sign_in.sso.connect_first",
  connected_already: "sign_in.sso.connected_already",
  invitation_gone: "sign_in.sso.invitation_gone",
  sign_in_denied: "sign_in.sso.sign_in_denied",
  answer_unverified: "sign_in.sso.answer_unverified",
  grant_refused: "sign_in.sso.grant_refused",
  client_refused: "sign_in.sso.client_refused",
  issuer_invalid: "sign_in.sso.issuer_invalid",
  issuer_mismatch: "sign_in.sso.issuer_mismatch",
  answer_unreadable: "sign_in.sso.answer_unreadable",
  address_not_allowed: "sign_in.sso.address_not_allowed",
  unreachable: "sign_in.sso.unreachable",
  unavailable: "sign_in.sso.unavailable",
  internal: "sign_in.sso.internal",
} as const satisfies Record<string, WordId>;

/** A node of a later version may know more codes. */
export function sentenceOfError(code: string): string {
  return Object.hasOwn(signInErrors, code)
    ? words(signInErrors[code as keyof typeof signInErrors])
    : words("sign_in.sso.failed", { code });
}
