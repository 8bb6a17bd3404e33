// Sign-ins with issuers that lie, lead elsewhere, or do not answer (T21, T27, N31).
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { inspect } from "node:util";
import { startScriptedIssuer, type ScriptedIssuer } from "@hawser/testkit/scripted-issuer.ts";
import { createAddresses } from "../webhooks/addresses.ts";
import { ProviderRefusal, type ProviderRefusalCode } from "./provider-refusal.ts";
import { createProviders, type ProviderSettings } from "./provider.ts";

const redirectUri = "http://127.0.0.1:9/sign-in/callback";
const addresses = createAddresses(["127.0.0.1/32"]);
const secrets = {
  client: "client-secret-4711",
  access: "access-token-4711",
  refresh: "refresh-token-4711",
  code: "code-4711",
};
/** A service that providers must not lead to. */
const decoy = createServer((_request, response) => response.end("{}"));
const decoyUrl = "http://127.0.0.2";
let decoyCalls = 0;
let issuer: ScriptedIssuer;
let settings: ProviderSettings;
let right: ScriptedIssuer["answers"];

before(async () => {
  issuer = await startScriptedIssuer();
  right = issuer.answers;
  const { issuer: url } = issuer;
  settings = { issuer: url, clientId: "hawser", clientSecret: secrets.client, groupsClaim: null };
  decoy.on("request", () => decoyCalls++);
  await new Promise<void>((resolve) => decoy.listen(0, "127.0.0.2", resolve));
});
beforeEach(() => {
  issuer.answers = { ...right };
});
after(async () => {
  assert.equal(decoyCalls, 0, "no request has reached the decoy");
  decoy.close();
  await issuer[Symbol.asyncDispose]();
});

const decoyAddress = () => `${decoyUrl}:${(decoy.address() as { port: number }).port}`;

function claimsFor(nonce: string) {
  const now = Math.floor(Date.now() / 1_000);
  return { iss: issuer.issuer, aud: "hawser", sub: "ada", nonce, iat: now, exp: now + 300, email: "ada@example.com" }; // oxfmt-ignore
}

const tokens = (idToken: string) => ({
  access_token: secrets.access,
  refresh_token: secrets.refresh,
  token_type: "Bearer",
  id_token: idToken,
});

type Sign = (claims: ReturnType<typeof claimsFor>) => string;

/** One sign-in. `sign` makes the id token, if the test has set no other answer. */
async function signIn(sign: Sign = issuer.signToken) {
  const providers = createProviders({ addresses });
  const { pending } = await providers.begin(settings, redirectUri);
  if (issuer.answers.token === right.token) {
    issuer.answers.token = () => tokens(sign(claimsFor(pending.nonce)));
  }
  const callback = new URL(`${redirectUri}?code=${secrets.code}&state=${pending.state}`);
  return providers.finish(settings, callback, pending);
}

/** Checks the code of a refusal, and that a log of the error would contain no secret. */
function refusedAs(code: ProviderRefusalCode) {
  return (error: unknown) => {
    assert.ok(error instanceof ProviderRefusal, String(error));
    assert.equal(error.code, code, error.detail ?? "");
    const shown = inspect(error, { depth: 10 }) + JSON.stringify(error);
    for (const secret of Object.values(secrets)) assert.ok(!shown.includes(secret), shown);
    return true;
  };
}

const withoutEmail: Sign = (claims) => issuer.signToken({ ...claims, email: undefined });

test("the issuer of these tests is accepted while it does not lie", async () => {
  const assertion = await signIn();
  assert.equal(assertion.subject, "ada");
  assert.equal(assertion.refreshToken, secrets.refresh);
});

const otherKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const badTokens: Record<string, Sign> = {
  "that is not signed": (claims) => issuer.signToken(claims, { alg: "none" }),
  "signed with another key": (claims) => issuer.signToken(claims, { key: otherKey }),
  "signed with the public key as a secret": (claims) =>
    issuer.signToken(claims, {
      alg: "HS256",
      key: Buffer.from(issuer.publicKey.export({ type: "spki", format: "pem" })),
    }),
  "signed with the client's secret": (claims) =>
    issuer.signToken(claims, { alg: "HS256", key: Buffer.from(secrets.client) }),
  "whose claims were changed": (claims) => {
    const [header, , signature] = issuer.signToken(claims).split(".");
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: "eve" })).toString("base64url");
    return [header, changed, signature].join(".");
  },
  "of another issuer": (claims) => issuer.signToken({ ...claims, iss: "https://evil.example" }),
  "for another client": (claims) => issuer.signToken({ ...claims, aud: "another" }),
  "for two clients without saying who asked": (claims) =>
    issuer.signToken({ ...claims, aud: ["hawser", "another"] }),
  "of another sign-in": (claims) => issuer.signToken({ ...claims, nonce: "another" }),
  "without a nonce": (claims) => issuer.signToken({ ...claims, nonce: undefined }),
  "that has expired": (claims) => issuer.signToken({ ...claims, exp: claims.iat - 60 }),
  "without a subject": (claims) => issuer.signToken({ ...claims, sub: undefined }),
  "whose subject is too long": (claims) => issuer.signToken({ ...claims, sub: "x".repeat(256) }),
};
for (const [what, sign] of Object.entries(badTokens)) {
  for (const algorithms of [undefined, ["RS256", "HS256", "none"]]) {
    const also = algorithms ? ", by an issuer that announces every algorithm" : "";
    test(`T21: an id token ${what} is refused${also}`, async () => {
      issuer.answers.discovery = () => ({
        ...issuer.document,
        id_token_signing_alg_values_supported: algorithms,
      });
      await assert.rejects(signIn(sign), refusedAs("answer_unverified"));
    });
  }
}

test("an answer without an id token is refused", async () => {
  issuer.answers.token = () => ({ access_token: secrets.access, token_type: "Bearer" });
  await assert.rejects(signIn(), refusedAs("answer_unverified"));
});

test("what the provider says about another subject is refused", async () => {
  issuer.answers.userinfo = () => ({ sub: "eve", email: "eve@example.com" });
  await assert.rejects(signIn(withoutEmail), refusedAs("answer_unverified"));
});

test("an address of the id token is not called verified by another answer", async () => {
  issuer.answers.userinfo = () => ({ sub: "ada", email: "eve@example.com", email_verified: true });
  settings = { ...settings, groupsClaim: "groups" };
  const { email, isEmailVerified } = await signIn();
  settings = { ...settings, groupsClaim: null };
  assert.deepEqual([email, isEmailVerified], ["ada@example.com", false]);
});

test("a provider that quotes a token in its error does not get it into a message", async () => {
  issuer.answers.token = (response) => {
    const error = { error: secrets.refresh, error_description: secrets.code };
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(error));
  };
  await assert.rejects(signIn(), refusedAs("client_refused"));
});

const badDocuments: Record<string, [ProviderRefusalCode, (document: object) => unknown]> = {
  "names another issuer": [
    "issuer_mismatch",
    (document) => ({ ...document, issuer: "https://evil.example" }),
  ],
  "names the issuer with a slash": [
    "issuer_mismatch",
    (document) => ({ ...document, issuer: `${issuer.issuer}/` }),
  ],
  "names no issuer": ["issuer_mismatch", (document) => ({ ...document, issuer: undefined })],
  "is null": ["issuer_mismatch", () => null],
  "has no authorization endpoint": ["answer_unreadable", () => ({ issuer: issuer.issuer })],
  "sends the browser to a script": [
    "address_not_allowed",
    (document) => ({ ...document, authorization_endpoint: "javascript:alert(1)" }),
  ],
  "has a number where a list belongs": [
    "answer_unreadable",
    (document) => ({ ...document, scopes_supported: 1 }),
  ],
};
for (const [what, [code, change]] of Object.entries(badDocuments)) {
  test(`a discovery document that ${what}`, async () => {
    issuer.answers.discovery = () => change(issuer.document);
    await assert.rejects(signIn(), refusedAs(code));
  });
}

for (const [wrong, code] of [
  ["", "issuer_invalid"],
  ["provider.example", "issuer_invalid"],
  ["file:///etc/passwd", "issuer_invalid"],
  ["https://", "issuer_invalid"],
  ["http://provider.example", "unreachable"],
  ["http://127.0.0.2", "address_not_allowed"],
  ["http://169.254.169.254", "address_not_allowed"],
  ["https://10.0.0.1", "address_not_allowed"],
  ["http://93.184.216.34", "address_not_allowed"],
] as const) {
  test(`the issuer “${wrong}” is refused`, async () => {
    const noNames = createAddresses(["127.0.0.1/32"], () => Promise.resolve([]));
    const providers = createProviders({ addresses: noNames });
    const begun = providers.begin({ ...settings, issuer: wrong }, redirectUri);
    await assert.rejects(begun, refusedAs(code));
  });
}

test("N31: a redirect to a private address is not followed", async () => {
  issuer.answers.discovery = (response) => {
    response.writeHead(302, { location: decoyAddress() }).end();
  };
  await assert.rejects(signIn(), refusedAs("answer_unreadable"));
});

for (const endpoint of ["token_endpoint", "jwks_uri", "userinfo_endpoint"]) {
  test(`N31: a provider whose ${endpoint} leads to a private address is not called`, async () => {
    issuer.answers.discovery = () => ({ ...issuer.document, [endpoint]: `${decoyAddress()}/x` });
    await assert.rejects(signIn(withoutEmail), refusedAs("address_not_allowed"));
  });
}

test("N31: a name that changes between check and connection leads to the checked address", async () => {
  let asked = 0;
  const rebinding = createAddresses(["127.0.0.1/32"], () =>
    Promise.resolve([asked++ === 0 ? "127.0.0.1" : "127.0.0.2"]),
  );
  const named = issuer.issuer.replace("127.0.0.1", "rebinding.example");
  issuer.answers.discovery = () => ({ ...issuer.document, issuer: named });
  const providers = createProviders({ addresses: rebinding });
  await providers.begin({ ...settings, issuer: named }, redirectUri);
  assert.equal(asked, 1);
});
