// Why a sign-in with a provider did not succeed: stable codes, and a sentence for each that says what to do. It
// imports nothing, so that nodes load the library of OpenID Connect only when somebody uses a provider.

const sentences = {
  issuer_invalid:
    "The issuer is not a web address. Enter the address that the provider calls its issuer.",
  issuer_mismatch:
    "The provider's discovery document names another issuer. Enter the issuer exactly as the document writes it, with or without a slash at its end.",
  address_not_allowed:
    "The provider leads to an address that this service may not connect to. Use https addresses of the public internet, or ask the operator to allow the provider's network.",
  unreachable: "The provider did not answer. Try again in a few minutes.",
  answer_unreadable:
    "The provider's answer could not be read. Check that the issuer is the address of an OpenID Connect provider.",
  answer_unverified:
    "The sign-in could not be verified: it is too old, was started elsewhere, or does not come from the expected provider. Start again.",
  client_refused:
    "The provider refused this service. Check the client id, the client secret and the redirect address that the provider knows.",
  grant_refused: "The provider no longer accepts this sign-in. Start again.",
  sign_in_denied:
    "The provider did not sign this person in. Start again, or ask who manages the provider.",
} as const;

export type ProviderRefusalCode = keyof typeof sentences;

/** A code of OAuth, a code of the network, or a status. Tokens have other forms. */
const detailForm = /^(?:[a-z_ ]{1,40}|[A-Z][A-Z0-9_]{1,60}|status \d{3})$/;

/** With these, a provider says that it has to ask the person something. */
const needsPersonDetails = [
  "account_selection_required",
  "consent_required",
  "interaction_required",
  "login_required",
];

/** Has no cause: errors of the client contain what the provider sent, which may be a token. */
export class ProviderRefusal extends Error {
  readonly code: ProviderRefusalCode;
  /** For the log: the code of an error of OAuth or of the network; null if there is none. */
  readonly detail: string | null;

  constructor(code: ProviderRefusalCode, detail: unknown = null) {
    super(sentences[code]);
    this.code = code;
    this.detail = typeof detail === "string" && detailForm.test(detail) ? detail : null;
  }

  /** Whether the provider would ask the person something, and was asked to be silent. */
  get needsPerson(): boolean {
    return this.code === "sign_in_denied" && needsPersonDetails.includes(this.detail ?? "");
  }
}
