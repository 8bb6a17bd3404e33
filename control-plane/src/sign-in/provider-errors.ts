// What the errors of openid-client mean: which refusal of ours each of them is.
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from "openid-client";
import { ProviderRefusal, type ProviderRefusalCode } from "./provider-refusal.ts";

/** OAuth's error codes that say something else than that the client is refused. */
const byOauthCode = new Map<string, ProviderRefusalCode>([
  ["invalid_grant", "grant_refused"],
  ["server_error", "unreachable"],
  ["slow_down", "unreachable"],
  ["temporarily_unavailable", "unreachable"],
]);

/** Codes of the client that are not about what an answer claims. */
const byClientCode = new Map<string, ProviderRefusalCode>([
  ["OAUTH_HTTP_REQUEST_FORBIDDEN", "address_not_allowed"],
  ["OAUTH_INVALID_SERVER_METADATA", "answer_unreadable"],
  ["OAUTH_MISSING_SERVER_METADATA", "answer_unreadable"],
  ["OAUTH_PARSE_ERROR", "answer_unreadable"],
  ["OAUTH_REQUEST_PROTOCOL_FORBIDDEN", "address_not_allowed"],
  ["OAUTH_RESPONSE_IS_NOT_CONFORM", "answer_unreadable"],
  ["OAUTH_RESPONSE_IS_NOT_JSON", "answer_unreadable"],
]);

export function refusalOf(error: unknown): ProviderRefusal {
  if (error instanceof ProviderRefusal) return error;
  // The client wraps what a request throws.
  if (error instanceof ClientError && error.cause instanceof ProviderRefusal) return error.cause;
  if (error instanceof AuthorizationResponseError) {
    return new ProviderRefusal("sign_in_denied", error.error);
  }
  if (error instanceof ResponseBodyError) {
    return new ProviderRefusal(byOauthCode.get(error.error) ?? "client_refused", error.error);
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    return new ProviderRefusal("client_refused", `status ${error.status}`);
  }
  // Documents that are no JSON, or have a value of another type than the client expects.
  if (error instanceof SyntaxError || error instanceof TypeError) {
    return new ProviderRefusal("answer_unreadable");
  }
  const { code = "" } = error as { code?: string };
  return new ProviderRefusal(byClientCode.get(code) ?? "answer_unverified", code);
}
