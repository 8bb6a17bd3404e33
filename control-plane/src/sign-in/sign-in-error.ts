// Why a person who comes back from a provider is not signed in: codes that the page /sign-in receives as `error`.
import type { ProviderRefusalCode } from "./provider-refusal.ts";

/** docs/guide/access.md says what each of them means. */
export type SignInError =
  | ProviderRefusalCode
  /** The browser did not begin, began too long ago, or has come back before. */
  | "expired"
  | "settings_changed"
  | "not_invited"
  | "no_group"
  | "other_address"
  | "other_account"
  | "connect_first"
  | "connected_already"
  | "invitation_gone"
  | "unavailable"
  | "internal";
