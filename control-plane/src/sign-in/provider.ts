// Signing in with an organization's OpenID Connect provider (T19, T21): where to send the browser, what the provider
// asserts about the person who comes back, and whether it still accepts that person later. An owner chooses the
// provider's address, so every request goes to an address that `Addresses` has checked, as for webhooks (T27).
import * as oidc from "openid-client";
import type { Addresses } from "../webhooks/addresses.ts";
import { refusalOf } from "./provider-errors.ts";
import { ProviderRefusal } from "./provider-refusal.ts";
import { fetchFrom } from "./provider-requests.ts";

export interface ProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The claim that lists a person's groups; null if groups are not used. */
  groupsClaim: string | null;
}

/** What the caller stores until the callback, and deletes then: it is used once. */
export interface PendingSignIn {
  codeVerifier: string;
  state: string;
  nonce: string;
}

export interface Assertion {
  issuer: string;
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  name: string | null;
  groups: string[];
  /** When the person proved to the provider who they are, in seconds since 1970; null if it does not say so. */
  authenticatedAt: number | null;
  refreshToken: string | null;
}

/**
 * `valid`: the provider still accepts the person. A refresh token replaces the previous one; null if that one stays.
 * Groups are null if the provider did not report them. `refused`: the sign-in has to end. `unreachable`: the provider
 * said nothing about the person.
 */
export type Refreshed =
  | { state: "valid"; refreshToken: string | null; groups: string[] | null }
  | { state: "refused" }
  | { state: "unreachable" };

export interface BeginOptions {
  /** Lets the provider ask the person for a proof, although they are signed in there. */
  again?: boolean;
  /** Lets the provider ask nothing: it answers at once, with `login_required` if the person is not signed in there. */
  silent?: boolean;
}

export interface Providers {
  begin(
    settings: ProviderSettings,
    redirectUri: string,
    options?: BeginOptions,
  ): Promise<{ url: string; pending: PendingSignIn }>;
  /** `callback`: the redirect URI with the parameters that the browser brought. */
  finish(settings: ProviderSettings, callback: URL, pending: PendingSignIn): Promise<Assertion>;
  /** Never throws a refusal. */
  refresh(settings: ProviderSettings, refreshToken: string, subject: string): Promise<Refreshed>;
}

/** With a largest age, in seconds, the provider says when the person proved who they are. A sign-in lasts as long. */
const longestSilent = "43200";

/** How long an operation may take, with all its requests. */
const operationMs = 10_000;

/** How long the discovery document and the keys of a provider are used, and of how many providers. */
const knownMs = 10 * 60_000;
const mostKnown = 200;
/** A provider with larger documents is asked each time, so that a few of them cannot fill the memory. */
const largestKnown = 65_536;

interface Known {
  metadata: oidc.ServerMetadata;
  keys: oidc.ExportedJWKSCache | undefined;
  until: number;
}

export function createProviders(parts: { addresses: Addresses; now?: () => number }): Providers {
  const { addresses, now = Date.now } = parts;
  const known = new Map<string, Known>();

  /** Runs one operation. Throws only ProviderRefusal. */
  async function within<T>(
    settings: ProviderSettings,
    work: (config: oidc.Configuration) => Promise<T>,
  ): Promise<T> {
    const signal = AbortSignal.timeout(operationMs);
    const fetch = fetchFrom(addresses, signal);
    const key = JSON.stringify([settings.issuer, settings.clientId]);
    try {
      const kept = known.get(key);
      const entry: Known =
        kept && kept.until > now()
          ? kept
          : {
              metadata: await discover(settings.issuer, fetch),
              keys: undefined,
              until: now() + knownMs,
            };
      const config = configure(settings, entry, fetch);
      try {
        return await work(config);
      } finally {
        keep(key, { ...entry, keys: oidc.getJwksCache(config) ?? entry.keys });
      }
    } catch (error) {
      throw refusalOf(error);
    }
  }

  function keep(key: string, entry: Known): void {
    known.delete(key);
    if (JSON.stringify(entry).length > largestKnown) return;
    if (known.size >= mostKnown) known.delete(known.keys().next().value!);
    known.set(key, entry);
  }

  return {
    begin: (settings, redirectUri, { again = false, silent = false } = {}) =>
      within(settings, async (config) => {
        const pending = {
          codeVerifier: oidc.randomPKCECodeVerifier(),
          state: oidc.randomState(),
          nonce: oidc.randomNonce(),
        };
        const mayRefresh = config.serverMetadata().scopes_supported?.includes("offline_access");
        const url = oidc.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: `openid email profile${mayRefresh ? " offline_access" : ""}`,
          code_challenge: await oidc.calculatePKCECodeChallenge(pending.codeVerifier),
          code_challenge_method: "S256",
          state: pending.state,
          nonce: pending.nonce,
          // With a largest age, the provider has to say when the person last proved who they are.
          ...(again && { prompt: "login", max_age: "0" }),
          ...(silent && { prompt: "none", max_age: longestSilent }),
        });
        return { url: url.href, pending };
      }),

    finish: (settings, callback, { codeVerifier, state, nonce }) =>
      within(settings, async (config) => {
        const tokens = await oidc.authorizationCodeGrant(config, callback, {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims()!;
        const subject = plainText(claims.sub, 255);
        if (subject === null) throw new ProviderRefusal("answer_unverified", "sub");
        const { groupsClaim } = settings;
        const hasEmail = typeof claims["email"] === "string";
        const hasGroups = groupsClaim === null || Object.hasOwn(claims, groupsClaim);
        const userInfo: Claims =
          hasEmail && hasGroups ? {} : ((await askUserInfo(config, tokens, claims.sub)) ?? {});
        // An address and whether it is verified come from the same answer.
        const source: Claims = hasEmail ? claims : userInfo;
        const email = plainText(source["email"], 320);
        return {
          issuer: settings.issuer,
          subject,
          email,
          isEmailVerified: email !== null && isTrue(source["email_verified"]),
          name: plainText(claims["name"] ?? userInfo["name"], 200),
          groups: groupsOf(hasGroups ? claims : userInfo, groupsClaim),
          authenticatedAt: timeOf(claims.auth_time),
          refreshToken: tokens.refresh_token ?? null,
        };
      }),

    async refresh(settings, refreshToken, subject) {
      try {
        return await within(settings, async (config) => {
          const tokens = await oidc.refreshTokenGrant(config, refreshToken);
          const claims = tokens.claims();
          if (claims && claims.sub !== subject)
            throw new ProviderRefusal("answer_unverified", "sub");
          return {
            state: "valid",
            refreshToken: tokens.refresh_token ?? null,
            groups: await currentGroups(config, settings.groupsClaim, tokens, subject),
          };
        });
      } catch (error) {
        return { state: isAboutPerson(refusalOf(error)) ? "refused" : "unreachable" };
      }
    },
  };
}

type Claims = Record<string, unknown>;
type Tokens = oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;

async function discover(issuer: string, fetch: oidc.CustomFetch): Promise<oidc.ServerMetadata> {
  if (!/^https?:\/\//.test(issuer) || !URL.canParse(issuer))
    throw new ProviderRefusal("issuer_invalid");
  const response = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, {
    method: "GET",
    headers: { accept: "application/json" },
    body: undefined,
    redirect: "manual",
  });
  if (response.status !== 200) {
    throw new ProviderRefusal("answer_unreadable", `status ${response.status}`);
  }
  const metadata = (await response.json()) as oidc.ServerMetadata | null;
  if (metadata?.issuer !== issuer) throw new ProviderRefusal("issuer_mismatch");
  return metadata;
}

function configure(
  { issuer, clientId, clientSecret }: ProviderSettings,
  { metadata, keys }: Known,
  fetch: oidc.CustomFetch,
): oidc.Configuration {
  const methods = metadata.token_endpoint_auth_methods_supported;
  const authenticate = methods?.includes("client_secret_post")
    ? oidc.ClientSecretPost
    : oidc.ClientSecretBasic;
  const config = new oidc.Configuration(metadata, clientId, undefined, authenticate(clientSecret));
  config[oidc.customFetch] = fetch;
  // Without this, the signature of an id token that came over TLS would not be checked.
  oidc.enableNonRepudiationChecks(config);
  // Addresses allow http only in the operator's own networks. An issuer with https never leads to http.
  // oxlint-disable-next-line typescript/no-deprecated -- only marked so that it stands out
  if (issuer.startsWith("http:")) oidc.allowInsecureRequests(config);
  if (keys) oidc.setJwksCache(config, keys);
  return config;
}

/** Undefined if the provider has no such endpoint. Throws if its answer is about somebody else. */
async function askUserInfo(
  config: oidc.Configuration,
  tokens: Tokens,
  subject: string,
): Promise<Claims | undefined> {
  if (!config.serverMetadata().userinfo_endpoint) return undefined;
  return oidc.fetchUserInfo(config, tokens.access_token, subject);
}

async function currentGroups(
  config: oidc.Configuration,
  groupsClaim: string | null,
  tokens: Tokens,
  subject: string,
): Promise<string[] | null> {
  if (groupsClaim === null) return null;
  const claims = tokens.claims();
  if (claims && Object.hasOwn(claims, groupsClaim)) return groupsOf(claims, groupsClaim);
  try {
    const source = (await askUserInfo(config, tokens, subject)) ?? claims;
    return source ? groupsOf(source, groupsClaim) : null;
  } catch (error) {
    if (isAboutPerson(refusalOf(error))) throw error;
    // The previous refresh token may be used up, so the new one must reach the caller.
    return null;
  }
}

/** Whether the provider has answered, and does not accept the person or this service. */
function isAboutPerson({ code }: ProviderRefusal): boolean {
  return ["client_refused", "grant_refused", "answer_unverified"].includes(code);
}

function groupsOf(claims: Claims, groupsClaim: string | null): string[] {
  if (groupsClaim === null) return [];
  return [claims[groupsClaim]]
    .flat()
    .map((name) => plainText(name, 200))
    .filter((name) => name !== null)
    .slice(0, 500);
}

/**
 * Null if the value is no text, empty, too long, or has characters that no name has. Halves of characters would all
 * be stored as U+FFFD, so different texts would become equal.
 */
function plainText(value: unknown, longest: number): string | null {
  const isPlain =
    typeof value === "string" &&
    value.length <= longest &&
    value.isWellFormed() &&
    /^\P{Cc}+$/u.test(value);
  return isPlain ? value : null;
}

/** Null if the value is no time that the database can store. */
function timeOf(seconds: unknown): number | null {
  const isTime = Number.isSafeInteger(seconds) && Math.abs(seconds as number) < 1e11;
  return isTime ? (seconds as number) : null;
}

/** Some providers write this claim as text. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === "true";
}
