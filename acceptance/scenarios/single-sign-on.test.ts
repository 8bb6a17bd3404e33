// Signing in with an organization's OpenID Connect provider, in a product of two nodes. It is an extension of the
// interface, so no requirement is cited. What attackers try is in control-plane/src/sign-in.
import assert from "node:assert/strict";
import { after } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startOidcProvider, type OidcProvider } from "@hawser/testkit/oidc-provider.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openTestBrowser, type TestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { until } from "@hawser/testkit/until.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld({ nodes: 2, nats: 1, environment: { HAWSER_WEBHOOK_NETWORKS: "127.0.0.1/32" } });

let provider: OidcProvider;
after(() => provider?.[Symbol.asyncDispose]());

/** The provider of the first organization. */
async function providerOf({ caller }: Context): Promise<OidcProvider> {
  if (provider) return provider;
  const { redirectUri } = await caller.get_sign_in_settings({});
  provider = await startOidcProvider({ redirectUris: [redirectUri] });
  const { issuer, clientId, clientSecret } = provider;
  await caller.update_sign_in_settings({
    issuer,
    clientId,
    clientSecret,
    groupsClaim: "groups",
    groupRoles: [{ group: "engineers", role: "member" }],
  });
  return provider;
}

async function signIn(context: Context, subject: string): Promise<TestBrowser> {
  const { world } = context;
  const idp = await providerOf(context);
  const email = `${subject}@people.example`;
  idp.person = { subject, claims: { email, email_verified: true, groups: ["engineers"] } };
  const browser = openTestBrowser(world.baseUrl);
  const { organizationId } = world.organizations[0];
  const begun = await browser.send("/api/sign-in/provider/begin", { organizationId });
  assert.equal(begun.status, 200, JSON.stringify(begun.body));
  const { pathname, search } = await idp.logIn(begun.body["url"] as string);
  const headers = { origin: undefined, "sec-fetch-site": "cross-site" };
  const back = await browser.send(pathname + search, undefined, headers);
  assert.deepEqual([back.status, back.headers.get("location")], [303, "/"]);
  return browser;
}

scenario("People of an organization's provider call as its members", [], async (context) => {
  const { caller, stranger, world } = context;
  const browser = await signIn(context, "kim");
  const { organizationId } = world.organizations[0];
  assert.equal((await browser.call(organizationId, "list_instances")).status, 200);
  const elsewhere = world.organizations[1].organizationId;
  assert.equal((await browser.call(elsewhere, "list_instances")).status, 401);
  const settings = await caller.get_sign_in_settings({});
  assert.equal(settings.issuer, provider.issuer);
  assert.notEqual(settings.testedAt, null);
  assert.ok(!JSON.stringify(settings).includes(provider.clientSecret));
  assert.equal((await stranger.get_sign_in_settings({})).issuer, null);
  const { members } = await caller.list_members({});
  const kim = members.find(({ email }) => email === "kim@people.example")!;
  assert.equal(kim.role, "member");
  const { userId } = kim;
  const { identities } = await caller.list_connected_identities({ userId });
  assert.deepEqual(
    identities.map(({ issuer, subject, groupRole }) => [issuer, subject, groupRole]),
    [[provider.issuer, "kim", "member"]],
  );
  const unreachable = { issuer: "http://127.0.0.1:9", clientId: "x", clientSecret: "x" };
  const refused = await stranger.try("update_sign_in_settings", unreachable);
  assertRefused(refused, 409, "provider_failed");
  const removal = { userId, issuer: provider.issuer, subject: "kim" };
  assertRefused(await stranger.try("remove_connected_identity", removal), 404, "not_found");
  assert.deepEqual(await caller.remove_connected_identity(removal), { userId, removed: true });
  assert.equal((await browser.call(organizationId, "list_instances")).status, 401);
});

scenario(
  "T19: when the provider no longer accepts a person, open streams end on every node",
  [],
  async (context) => {
    const { world } = context;
    const browser = await signIn(context, "robin");
    const { organizationId } = world.organizations[0];
    const streams = await Promise.all(
      world.nodes.map(({ baseUrl }) => {
        const there = openTestBrowser(baseUrl, browser.cookies);
        return fetch(`${baseUrl}/api/events`, { headers: there.headersFor(organizationId) });
      }),
    );
    assert.ok(streams.every(({ status }) => status === 200));
    const ended = streams.map(async (stream) => {
      for await (const _piece of stream.body!) void _piece;
      return performance.now();
    });
    await provider.revokeGrants();
    const sql = (text: string) => ownerSql<{ open: number }>(world.database.url, text);
    await sql("UPDATE sign_in.sign_ins SET check_at = hawser_now() WHERE way = 'provider'");
    // The nodes look for sign-ins to refresh once a minute.
    await until(
      "the sign-in has ended",
      async () => {
        await pause(250);
        const [row] = await sql(
          "SELECT count(*)::int AS open FROM sign_in.sign_ins WHERE way = 'provider' AND ended_at IS NULL",
        );
        return row!.open === 0;
      },
      90_000,
    );
    const endedAt = performance.now();
    const latest = Math.max(...(await Promise.all(ended))) - endedAt;
    assert.ok(latest <= 5_000, `the last stream ended after ${latest} ms`);
    assert.equal((await browser.call(organizationId, "whoami")).status, 401);
  },
);
