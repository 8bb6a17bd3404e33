import assert from "node:assert/strict";
import { test } from "node:test";
import { makeNkey, nkeyFromSeed, verifyNkey } from "@hawser/host-protocol";
import { encodeClaims } from "./claims.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createHostTokens } from "./host-token.ts";

const { keys } = makeFabricKeys();
const tokens = createHostTokens(keys, 3600);
const host = makeNkey("user");
const now = Date.parse("2026-03-01T12:00:00.900Z");
const minted = tokens.mint("ins_abc", host.publicKey, now);

test("a token names its host until it expires", () => {
  assert.equal(minted.expiresAt, "2026-03-01T13:00:00.000Z");
  const identity = { publicKey: host.publicKey, instanceId: "ins_abc" };
  assert.deepEqual(tokens.read(minted.token, now), identity);
  assert.deepEqual(tokens.read(minted.token, Date.parse(minted.expiresAt) - 1), identity);
  assert.equal(tokens.read(minted.token, Date.parse(minted.expiresAt)), undefined);
});

test("what a host may do is its own subjects, by WebSocket, with one answer to each question", () => {
  const [head, payload, signature] = minted.token.split(".") as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as { nats: object };
  assert.deepEqual(claims.nats, {
    type: "user",
    issuer_account: keys.accountPublicKey,
    pub: { allow: ["host.ins_abc.up.>", "host.ins_abc.live.>"] },
    sub: { allow: ["host.ins_abc.cmd", "_INBOX.ins_abc.>"] },
    resp: { max: 1, ttl: 60_000_000_000 },
    allowed_connection_types: ["WEBSOCKET"],
    subs: 20,
    data: -1,
    payload: -1,
    version: 2,
  });
  const signer = nkeyFromSeed(keys.hostSigningSeed).publicKey;
  const signed = Buffer.from(signature, "base64url");
  assert.ok(verifyNkey("account", signer, `${head}.${payload}`, signed));
});

test("an id that would widen the subjects gets no token, nor does a key that is none", () => {
  for (const id of ["*", ">", "a.b", "a b", "", "ins_abc.>"])
    assert.throws(() => tokens.mint(id, host.publicKey), /not an instance's id/, id);
  for (const key of ["", host.seed, makeNkey("account").publicKey, `${host.publicKey}A`])
    assert.throws(() => tokens.mint("ins_abc", key), /not a host's public key/, key);
});

const [head, payload, signature] = minted.token.split(".") as [string, string, string];
const changed = Buffer.from(payload, "base64url").toString().replaceAll("ins_abc", "ins_abd");
const noAlgorithm = Buffer.from(JSON.stringify({ typ: "JWT", alg: "none" })).toString("base64url");
const nodes = nkeyFromSeed(keys.nodeSigningSeed);
const hosts = nkeyFromSeed(keys.hostSigningSeed);
const user = {
  subject: host.publicKey,
  name: "ins_abc",
  issuedAt: 1,
  expiresAt: 4_000_000_000,
  grant: { type: "user", issuer_account: keys.accountPublicKey },
} as const;

for (const [what, token] of Object.entries({
  "another service's": createHostTokens(makeFabricKeys().keys, 3600).mint(
    "ins_abc",
    host.publicKey,
    now,
  ).token,
  "a node's own": encodeClaims(nodes, user),
  "one signed by the host itself": encodeClaims(host, user),
  "one of another account": encodeClaims(hosts, {
    ...user,
    grant: { type: "user", issuer_account: makeNkey("account").publicKey },
  }),
  "one that is no user's": encodeClaims(hosts, {
    ...user,
    grant: { type: "account", issuer_account: keys.accountPublicKey },
  }),
  "one for something that is no user": encodeClaims(hosts, {
    ...user,
    subject: keys.accountPublicKey,
  }),
  "one that never runs out": encodeClaims(hosts, {
    subject: host.publicKey,
    name: "ins_abc",
    issuedAt: 1,
    grant: user.grant,
  }),
  "a changed one": `${head}.${Buffer.from(changed).toString("base64url")}.${signature}`,
  "one without a signature": `${head}.${payload}.`,
  "one that says it needs no signature": `${noAlgorithm}.${payload}.`,
  "one with a part too many": `${minted.token}.x`,
  "the account's": keys.accountJwt,
  nothing: "",
  noise: "a.b.c",
  "a very long one": `${head}.${"A".repeat(1_000_000)}.${signature}`,
})) {
  test(`a token is not read: ${what}`, () => {
    assert.equal(tokens.read(token, now), undefined);
  });
}

test("minting and reading are cheap enough for a storm of hosts", (t) => {
  const started = performance.now();
  const count = 500;
  for (let i = 0; i < count; i++)
    tokens.read(tokens.mint("ins_abc", host.publicKey, now).token, now);
  const each = (performance.now() - started) / count;
  t.diagnostic(`${each.toFixed(2)} ms for a token minted and read`);
  assert.ok(each < 10);
});
