// Sign-ins with a real OpenID Connect provider, through its pages (T19, T21).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  startOidcProvider,
  type OidcProvider,
  type OidcProviderOptions,
} from "@hawser/testkit/oidc-provider.ts";
import { createAddresses } from "../webhooks/addresses.ts";
import { ProviderRefusal, type ProviderRefusalCode } from "./provider-refusal.ts";
import { createProviders, type ProviderSettings } from "./provider.ts";

const redirectUri = "http://127.0.0.1:9/sign-in/callback";
const addresses = createAddresses(["127.0.0.1/32"]);
const ada = {
  subject: "ada",
  claims: {
    email: "ada@example.com",
    email_verified: true,
    name: "Ada Lovelace",
    groups: ["engineers", "on-call"],
  },
};
let provider: OidcProvider;

before(async () => {
  provider = await startOidcProvider({ redirectUris: [redirectUri] });
});
after(() => provider[Symbol.asyncDispose]());

function settingsOf({ issuer, clientId, clientSecret }: OidcProvider): ProviderSettings {
  return { issuer, clientId, clientSecret, groupsClaim: "groups" };
}

/** Up to the callback, with a memory of its own. */
async function signIn(person = ada, at = provider) {
  const providers = createProviders({ addresses });
  const settings = settingsOf(at);
  at.person = person;
  const { url, pending } = await providers.begin(settings, redirectUri);
  const callback = await at.logIn(url);
  return { providers, settings, url: new URL(url), pending, callback };
}

function refusedAs(code: ProviderRefusalCode) {
  return (error: unknown) => {
    assert.ok(error instanceof ProviderRefusal, String(error));
    assert.equal(error.code, code, error.detail ?? "");
    return true;
  };
}

test("a person signs in, and the provider asserts who it is", async () => {
  const { providers, settings, pending, callback } = await signIn();
  const { refreshToken, ...assertion } = await providers.finish(settings, callback, pending);
  assert.deepEqual(assertion, {
    issuer: provider.issuer,
    subject: "ada",
    email: "ada@example.com",
    isEmailVerified: true,
    name: "Ada Lovelace",
    groups: ["engineers", "on-call"],
    authenticatedAt: null,
  });
  assert.equal(typeof refreshToken, "string");
});

test("a provider that is asked for a proof again says when it got one", async () => {
  const providers = createProviders({ addresses });
  const settings = settingsOf(provider);
  provider.person = ada;
  const { url, pending } = await providers.begin(settings, redirectUri, { again: true });
  const { searchParams } = new URL(url);
  assert.deepEqual([searchParams.get("prompt"), searchParams.get("max_age")], ["login", "0"]);
  const callback = await provider.logIn(url);
  const { authenticatedAt } = await providers.finish(settings, callback, pending);
  assert.ok(Math.abs(authenticatedAt! - Date.now() / 1000) < 60, String(authenticatedAt));
});

const variants: Record<string, Omit<OidcProviderOptions, "redirectUris">> = {
  "that puts all claims into the id token": { areClaimsInIdToken: true },
  "that wants the client's secret in a header": { clientAuthMethod: "client_secret_basic" },
};
for (const [what, options] of Object.entries(variants)) {
  test(`a person signs in with a provider ${what}`, async () => {
    await using other = await startOidcProvider({ redirectUris: [redirectUri], ...options });
    const { providers, settings, pending, callback } = await signIn(ada, other);
    const assertion = await providers.finish(settings, callback, pending);
    assert.equal(assertion.email, "ada@example.com");
    assert.deepEqual(assertion.groups, ["engineers", "on-call"]);
    assert.equal(other.paths.includes("/me"), !options.areClaimsInIdToken);
  });
}

test("the browser is sent with state, nonce and a PKCE challenge, each of them new", async () => {
  const first = await signIn();
  const second = await signIn();
  const parameters = Object.fromEntries(first.url.searchParams);
  assert.equal(parameters["code_challenge_method"], "S256");
  assert.equal(parameters["state"], first.pending.state);
  assert.equal(parameters["nonce"], first.pending.nonce);
  assert.equal(parameters["redirect_uri"], redirectUri);
  assert.equal(parameters["scope"], "openid email profile offline_access");
  assert.ok(!first.url.href.includes(first.pending.codeVerifier));
  for (const part of ["state", "nonce", "codeVerifier"] as const) {
    assert.notEqual(first.pending[part], second.pending[part]);
  }
});

for (const claim of [false, undefined, "false", 1, "yes"]) {
  test(`an address is reported as unverified if email_verified is ${JSON.stringify(claim)}`, async () => {
    const person = { subject: "eve", claims: { email: "ada@example.com", email_verified: claim } };
    const { providers, settings, pending, callback } = await signIn(person as never);
    const assertion = await providers.finish(settings, callback, pending);
    assert.equal(assertion.email, "ada@example.com");
    assert.equal(assertion.isEmailVerified, false);
  });
}

test("the text “true” also says that an address is verified", async () => {
  const person = { subject: "bob", claims: { email: "b@example.com", email_verified: "true" } };
  const { providers, settings, pending, callback } = await signIn(person as never);
  assert.equal((await providers.finish(settings, callback, pending)).isEmailVerified, true);
});

test("a person without an address has none, and it is not verified", async () => {
  const person = { subject: "bot", claims: { email_verified: true } };
  const { providers, settings, pending, callback } = await signIn(person as never);
  const { email, isEmailVerified, name, groups } = await providers.finish(
    settings,
    callback,
    pending,
  );
  assert.deepEqual({ email, isEmailVerified, name, groups }, {
    email: null,
    isEmailVerified: false,
    name: null,
    groups: [],
  }); // oxfmt-ignore
});

const many = Array.from({ length: 501 }, (_, at) => `group-${at}`);
for (const [what, claim, groups] of [
  ["one text", "engineers", ["engineers"]],
  ["501 names", many, many.slice(0, 500)],
  ["a name of 201 characters", ["x".repeat(201), "x".repeat(200)], ["x".repeat(200)]],
  ["other values than text", [1, null, { a: 1 }, ["b"], "c", "d\u0000"], ["c"]],
  ["an object", { engineers: true }, []],
] as const) {
  test(`the groups of a claim that contains ${what}`, async () => {
    const person = { subject: "ada", claims: { ...ada.claims, groups: claim } };
    const { providers, settings, pending, callback } = await signIn(person as never);
    assert.deepEqual((await providers.finish(settings, callback, pending)).groups, groups);
  });
}

test("no groups are read if no claim is named", async () => {
  const { providers, settings, pending, callback } = await signIn();
  const { groups } = await providers.finish({ ...settings, groupsClaim: null }, callback, pending);
  assert.deepEqual(groups, []);
});

test("T21: a callback is not accepted a second time", async () => {
  const { providers, settings, pending, callback } = await signIn();
  await providers.finish(settings, callback, pending);
  const again = providers.finish(settings, callback, pending);
  await assert.rejects(again, refusedAs("grant_refused"));
});

const changedCallbacks: Record<string, (url: URL) => void> = {
  "without its state": (url) => url.searchParams.delete("state"),
  "with another state": (url) => url.searchParams.set("state", "x".repeat(43)),
  "with two states": (url) => url.searchParams.append("state", url.searchParams.get("state")!),
  "of another issuer": (url) => url.searchParams.set("iss", "https://evil.example"),
  "without the issuer that this provider always names": (url) => url.searchParams.delete("iss"),
};
for (const [what, change] of Object.entries(changedCallbacks)) {
  test(`T21: a callback ${what} is refused before its code is used`, async () => {
    const { providers, settings, pending, callback } = await signIn();
    const asked = provider.paths.length;
    change(callback);
    const finished = providers.finish(settings, callback, pending);
    await assert.rejects(finished, refusedAs("answer_unverified"));
    assert.equal(provider.paths.length, asked);
  });
}

test("T21: a code of another browser's sign-in is refused", async () => {
  const [mine, theirs] = [await signIn(), await signIn()];
  const stolen = theirs.callback.searchParams.get("code")!;
  mine.callback.searchParams.set("code", stolen);
  const finished = mine.providers.finish(mine.settings, mine.callback, mine.pending);
  await assert.rejects(finished, refusedAs("grant_refused"));
});

test("T21: an id token for another nonce is refused", async () => {
  const { providers, settings, pending, callback } = await signIn();
  const finished = providers.finish(settings, callback, { ...pending, nonce: "x".repeat(43) });
  await assert.rejects(finished, refusedAs("answer_unverified"));
});

test("a person who refuses at the provider is not signed in", async () => {
  const providers = createProviders({ addresses });
  const { url, pending } = await providers.begin(settingsOf(provider), redirectUri);
  provider.person = null;
  const finished = providers.finish(settingsOf(provider), await provider.logIn(url), pending);
  await assert.rejects(finished, (error: ProviderRefusal) => {
    assert.equal(error.detail, "access_denied");
    return refusedAs("sign_in_denied")(error);
  });
});

test("a wrong secret of the client", async () => {
  const { providers, settings, pending, callback } = await signIn();
  const wrong = { ...settings, clientSecret: "another secret" };
  await assert.rejects(providers.finish(wrong, callback, pending), refusedAs("client_refused"));
});

test("T19: a refresh reports a person's groups of now, and a revoked grant ends it", async () => {
  const { providers, settings, pending, callback } = await signIn();
  const { refreshToken } = await providers.finish(settings, callback, pending);
  assert.ok(refreshToken);
  provider.person = { ...ada, claims: { ...ada.claims, groups: ["engineers"] } };
  await provider.logIn((await providers.begin(settings, redirectUri)).url);
  const refreshed = await providers.refresh(settings, refreshToken, "ada");
  assert.equal(refreshed.state, "valid");
  assert.deepEqual(refreshed.groups, ["engineers"]);

  assert.deepEqual(await providers.refresh(settings, refreshToken, "bob"), { state: "refused" });

  await provider.revokeGrants();
  assert.deepEqual(await providers.refresh(settings, refreshToken, "ada"), { state: "refused" });
});

test("T19: a provider that is down refuses nobody", async () => {
  const other = await startOidcProvider({ redirectUris: [redirectUri] });
  const { providers, settings, pending, callback } = await signIn(ada, other);
  const { refreshToken } = await providers.finish(settings, callback, pending);
  await other[Symbol.asyncDispose]();
  const refreshed = await providers.refresh(settings, refreshToken!, "ada");
  assert.deepEqual(refreshed, { state: "unreachable" });
  const begun = createProviders({ addresses }).begin(settings, redirectUri);
  await assert.rejects(begun, (error: ProviderRefusal) => {
    assert.equal(error.detail, "ECONNREFUSED");
    return refusedAs("unreachable")(error);
  });
});

test("discovery and keys are asked for once in ten minutes for each issuer and client", async () => {
  let time = Date.now();
  const providers = createProviders({ addresses, now: () => time });
  const settings = settingsOf(provider);
  const count = (path: string) => provider.paths.filter((each) => each === path).length;
  const document = "/.well-known/openid-configuration";
  const before = { document: count(document), keys: count("/jwks") };
  const asked = () => [count(document) - before.document, count("/jwks") - before.keys];
  async function signInOnce() {
    provider.person = ada;
    const { url, pending } = await providers.begin(settings, redirectUri);
    await providers.finish(settings, await provider.logIn(url), pending);
  }
  await signInOnce();
  await signInOnce();
  assert.deepEqual(asked(), [1, 1]);
  await providers.begin({ ...settings, clientId: "another" }, redirectUri);
  assert.deepEqual(asked(), [2, 1]);
  time += 10 * 60_000;
  await signInOnce();
  assert.deepEqual(asked(), [3, 2]);
});
