// Sign-ins with a provider last no longer than the provider accepts the person (T19).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { masterKeysOf } from "@hawser/testkit/master-keys.ts";
import type { OidcPerson, OidcProvider } from "@hawser/testkit/oidc-provider.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openTestBrowser, type TestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { startSingleSignOnBed, type SingleSignOnBed } from "@hawser/testkit/single-sign-on-bed.ts";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { randomSecret } from "../secrets/secrets.ts";
import { createAddresses } from "../webhooks/addresses.ts";
import { createProviders, type Providers } from "./provider.ts";
import { refreshProviders } from "./refresh-providers.ts";
import { createSealing } from "./sealing.ts";

let bed: SingleSignOnBed;
let idp: OidcProvider;
let runJob: (change?: Partial<Providers>, providerMs?: number) => Promise<void>;

before(async () => {
  bed = await startSingleSignOnBed();
  idp = await bed.startProvider();
  const { database } = bed.service;
  const keys = masterKeysOf(bed.masterKey);
  const parts = {
    accounts: database.connectionsFor("accounts").system,
    database,
    sealing: createSealing(await randomSecret(database.system, keys, "sign-in")),
    log: createLog("silent"),
  };
  runJob = async (change = {}, providerMs = 10_000) => {
    // The nodes' own job must not use the same refresh tokens.
    await ownerSql(
      bed.service.url,
      `UPDATE jobs SET due_at = hawser_now() + interval '59 seconds' WHERE name = 'refresh sign-ins of providers'`,
    );
    const providers = createProviders({ addresses: createAddresses(["127.0.0.0/8"]) });
    await age("check_at", "16 minutes");
    const { signal } = new AbortController();
    await refreshProviders(
      { ...parts, providers: { ...providers, ...change }, providerMs },
      signal,
    );
  };
});
beforeEach(() =>
  bed.configure(idp, {
    groupsClaim: "groups",
    groupRoles: [
      { group: "engineers", role: "member" },
      { group: "guests", role: "viewer" },
    ],
  }),
);
after(() => bed[Symbol.asyncDispose]());

const age = (column: string, interval: string) =>
  ownerSql(
    bed.service.url,
    `UPDATE sign_in.sign_ins SET ${column} = ${column} - interval '${interval}' WHERE way = 'provider'`,
  );

let people = 0;
function newPerson(): OidcPerson {
  const subject = `refreshed-${++people}`;
  const email = `${subject}@people.example`;
  return { subject, claims: { email, email_verified: true, groups: ["engineers"] } };
}

async function signedIn(person = newPerson(), provider = idp) {
  const browser = bed.browser();
  assert.equal(await bed.signIn(browser, provider, person), "/");
  return browser;
}

const statusOf = async (browser: TestBrowser) =>
  (await browser.call(bed.acme.organizationId, "whoami")).status;

const rows = () =>
  ownerSql<{ lives: number; expires: number; tokens: number; ended: boolean }>(
    bed.service.url,
    `SELECT extract(epoch FROM provider_until - hawser_now())::float8 / 60 AS lives,
            extract(epoch FROM expires_at - hawser_now())::float8 / 60 AS expires,
            num_nonnulls(refresh_token) AS tokens, ended_at IS NOT NULL AS ended
       FROM sign_in.sign_ins WHERE way = 'provider' ORDER BY sign_in_id DESC`,
  );

/** On every node, as sign-ins are cached for 5 s. */
async function endsEverywhere(browser: TestBrowser) {
  await Promise.all(
    bed.nodes.map(({ baseUrl }) => {
      const there = openTestBrowser(baseUrl, new Map(browser.cookies));
      return until("the sign-in has ended", async () => (await statusOf(there)) === 401);
    }),
  );
}

test("T19: a sign-in is confirmed every 15 minutes, and lasts 12 hours at most", async () => {
  const browser = await signedIn();
  const [fresh] = await rows();
  assert.ok(fresh!.lives > 74 && fresh!.lives <= 75, String(fresh!.lives));
  assert.ok(fresh!.expires > 719 && fresh!.expires <= 720, String(fresh!.expires));
  await age("provider_until", "40 minutes");
  await runJob();
  await runJob();
  assert.equal(await statusOf(browser), 200);
  const [confirmed] = await rows();
  assert.ok(confirmed!.lives > 74, String(confirmed!.lives));
  assert.ok(confirmed!.expires <= 720);
  await age("expires_at", "13 hours");
  await endsEverywhere(browser);
  await runJob();
  assert.equal((await rows())[0]!.tokens, 0);
});

test("T19: a person whom the provider no longer accepts is signed out on every node", async () => {
  const browser = await signedIn();
  assert.equal(await statusOf(browser), 200);
  await idp.revokeGrants();
  await runJob();
  await endsEverywhere(browser);
  const [row] = await rows();
  assert.deepEqual([row!.tokens, row!.ended], [0, true]);
});

test("T19: a provider that is out of reach ends sign-ins after an hour, and delays no other provider", async () => {
  const stays = await signedIn();
  const down = await bed.startProvider();
  await bed.configure(
    down,
    { groupsClaim: "groups", groupRoles: [{ group: "engineers", role: "member" }] },
    bed.globex,
  );
  const browser = bed.browser();
  const more = { organizationId: bed.globex.organizationId };
  assert.equal(await bed.signIn(browser, down, newPerson(), more), "/");
  const reaches = async () => (await browser.call(bed.globex.organizationId, "whoami")).status;
  await down[Symbol.asyncDispose]();
  await runJob();
  assert.equal(await reaches(), 200);
  assert.equal(await statusOf(stays), 200);
  const [kept] = await rows();
  assert.deepEqual([kept!.tokens, kept!.ended], [1, false]);
  await age("provider_until", "76 minutes");
  await until("the sign-in has ended", async () => (await reaches()) === 401);
});

test("T19: a provider that answers slowly is asked about few people in each run, and delays no other", async () => {
  const slow = await bed.startProvider();
  await bed.configure(
    slow,
    { groupsClaim: "groups", groupRoles: [{ group: "engineers", role: "member" }] },
    bed.globex,
  );
  const more = { organizationId: bed.globex.organizationId };
  for (let n = 0; n < 6; n += 1) {
    assert.equal(await bed.signIn(bed.browser(), slow, newPerson(), more), "/");
  }
  await signedIn();
  await age("provider_until", "30 minutes");
  const askedBefore = slow.paths.length;
  const confirmed = async () => (await rows()).slice(0, 7).filter(({ lives }) => lives > 74).length;
  const release = slow.holdTokens();
  const run = runJob({}, 0);
  await until("the other provider has answered", async () => (await confirmed()) === 1);
  release();
  await run;
  assert.equal(slow.paths.slice(askedBefore).filter((path) => path === "/token").length, 4);
  assert.equal(await confirmed(), 5);
  // The next run asks first about those who were left over.
  await runJob({}, 0);
  assert.equal(await confirmed(), 7);
});

test("T19: without a refresh token, a sign-in lasts an hour", async () => {
  const browser = await signedIn();
  await ownerSql(bed.service.url, "UPDATE sign_in.sign_ins SET refresh_token = NULL");
  await runJob();
  assert.equal(await statusOf(browser), 200);
  idp.issuesRefreshTokens = false;
  try {
    const short = await signedIn();
    const [row] = await rows();
    assert.equal(row!.tokens, 0);
    assert.ok(row!.expires > 59 && row!.expires <= 60, String(row!.expires));
    assert.ok(row!.lives > 59 && row!.lives <= 60, String(row!.lives));
    await age("expires_at", "61 minutes");
    await endsEverywhere(short);
  } finally {
    idp.issuesRefreshTokens = true;
  }
});

test("groups that change at the provider change the role, and the last lost group ends the sign-in", async () => {
  const person = newPerson();
  const browser = await signedIn(person);
  const roleOf = async () =>
    (await bed.keys().list_members({ limit: 200 })).members.find(
      ({ email }) => email === person.claims["email"],
    )!.role;
  const setGroups = (...groups: string[]) =>
    idp.know({ ...person, claims: { ...person.claims, groups } });
  setGroups("guests");
  await runJob();
  assert.equal(await roleOf(), "viewer");
  await endsEverywhere(browser);
  const again = await signedIn({ ...person, claims: { ...person.claims, groups: ["guests"] } });
  setGroups("others");
  await runJob();
  await endsEverywhere(again);
  assert.equal((await rows())[0]!.ended, true);
});

test("what a former provider says about groups gives no role of its successor's", async () => {
  const person = newPerson();
  await signedIn(person);
  const next = await bed.startProvider();
  await runJob({
    async refresh() {
      const groupRoles = [{ group: "admins", role: "owner" }];
      await bed.configure(next, { groupsClaim: "groups", groupRoles });
      return { state: "valid", refreshToken: null, groups: ["engineers", "admins"] };
    },
  });
  const { members } = await bed.keys().list_members({ limit: 200 });
  assert.equal(members.find(({ email }) => email === person.claims["email"])!.role, "member");
});

test("sign-ins with former settings keep no refresh token", async () => {
  await signedIn();
  await bed.configure(idp);
  await runJob();
  assert.ok((await rows()).every(({ tokens }) => tokens === 0));
});
