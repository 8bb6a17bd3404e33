// Secrets that people link as their accounts on one host. The agents and their login programs are scripted;
// drivers/*/link.test.ts has the real ones.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { seal, type LinkWay } from "@hawser/contract";
import { logIn, openSmall, setPolicy } from "@hawser/testkit/scripted-accounts.ts";
import {
  codeOf,
  makeSmallHost,
  script,
  wanted,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";
import { bySubscription, openHomes } from "./homes.ts";

const ada = "usr_ada.1000";
const kind = "claude_code" as const;
const canary = "sk-canary-0123456789-abcd";

interface Wanted {
  secret?: string;
  way?: LinkWay;
  baseUrl?: string | null;
  ownerId?: string;
  sealedFor?: string;
  sealedUrl?: string;
}

async function request(host: OpenHost, more: Wanted = {}) {
  const { secret = canary, way = "api_key", baseUrl = null, ownerId = ada } = more;
  const { sealingKey } = await host.must("list_identities", {});
  const userId = more.sealedFor ?? ownerId.split(".")[0]!;
  const address = baseUrl === null ? {} : { baseUrl: more.sealedUrl ?? baseUrl };
  const sealedSecret = await seal(sealingKey!, { userId, kind, way, ...address, secret });
  const named = { baseUrl, region: null, projectId: null };
  return { ownerId, kind, way, sealedSecret, ...named };
}

const link = async (host: OpenHost, more: Wanted = {}) =>
  host.must("link_identity", await request(host, more));
const list = async (host: OpenHost) => (await host.must("list_identities", {})).identities;
const placeOf = (small: SmallHost) =>
  join(small.directory, "state/homes/ins_small", ada, "claude_code");

test("a linked secret is listed by its last characters, used by sessions, and removed by unlinking", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host, accounts } = openSmall(small);
  assert.deepEqual(await link(host), { account: "…abcd" });
  const [identity] = await list(host);
  assert.deepEqual(identity, {
    ownerId: ada,
    kind,
    way: "api_key",
    authenticated: true,
    account: "…abcd",
    plan: null,
    expiresAt: null,
    utilization: null,
    utilizationAt: null,
    problem: null,
  });
  const asked = { ...wanted(small.repository), kind, ownerId: ada };
  assert.equal((await host.must("start_session", asked)).ownerId, ada);
  const home = join(placeOf(small), "home");
  assert.deepEqual(accounts.uses.get(home)!(), { ...bySubscription, way: "api_key" });
  // In use, it is listed by the same name.
  assert.deepEqual((await list(host))[0], identity);
  assert.deepEqual(await host.must("unlink_identity", { ownerId: ada, kind }), { unlinked: true });
  assert.equal(existsSync(placeOf(small)), false);
  assert.throws(accounts.uses.get(home)!);
  await host.close();
  const journal = readFileSync(join(small.directory, "state/journal.sqlite"), "latin1");
  assert.ok(journal.includes("link_identity"));
  assert.ok(!journal.includes(canary));
});

test("the host's owner must accept it, and nobody links what somebody else has sealed", async () => {
  using small = makeSmallHost();
  const { host, accounts } = openSmall(small);
  assert.equal(codeOf(await host.ask("link_identity", await request(host))), "login_forbidden");
  setPolicy(small, "shared-logins = yes");
  const stolen = await request(host, { sealedFor: "usr_bo" });
  assert.equal(codeOf(await host.ask("link_identity", stolen)), "login_failed");
  const [baseUrl, sealedUrl] = ["https://thief.test", "https://gateway.test"];
  const redirected = await request(host, { way: "gateway", baseUrl, sealedUrl });
  assert.equal(codeOf(await host.ask("link_identity", redirected)), "login_failed");
  for (const baseUrl of ["file:///etc/passwd", "http://a:b@gateway.test/", "nonsense"]) {
    const wrong = await request(host, { way: "gateway", baseUrl });
    assert.equal(codeOf(await host.ask("link_identity", wrong)), "login_failed", baseUrl);
  }
  assert.deepEqual([accounts.linked, existsSync(placeOf(small))], [[], false]);
  await host.close();
});

test("a secret takes the place of a login, and a login that of a secret; both restart the agents", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host, accounts } = openSmall(small);
  await logIn(host, ada);
  const asked = { ...wanted(small.repository), kind, ownerId: ada };
  const { sessionId } = asked;
  await host.must("start_session", asked);
  const baseUrl = "https://gateway.test/anthropic";
  assert.deepEqual(await link(host, { way: "gateway", baseUrl }), { account: "gateway.test" });
  assert.equal(accounts.revoked.length, 1, "the login has ended");
  await host.until(sessionId, "session_status", ({ status }) => status === "detached");
  const home = join(placeOf(small), "home");
  assert.deepEqual(accounts.uses.get(home)!(), { ...bySubscription, way: "gateway", baseUrl });
  const text = script([{ text: "with the gateway" }]);
  await host.must("send_prompt", { sessionId, text, ownerId: ada });
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");

  await logIn(host, ada);
  assert.equal(accounts.revoked.length, 2, "the secret is gone");
  assert.deepEqual(accounts.uses.get(home)!(), bySubscription);
  const [identity] = await list(host);
  assert.deepEqual([identity!.way, identity!.account], ["subscription", "ada@example.test"]);
  assert.ok(identity!.expiresAt);
  await host.close();
});

test("a secret that the agent rejects is not kept, and a linking that a crash cut short can be repeated", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host, accounts } = openSmall(small);
  const rejected = await request(host, { secret: "rejected" });
  assert.equal(codeOf(await host.ask("link_identity", rejected)), "login_failed");
  assert.equal(existsSync(placeOf(small)), false);
  await link(host);
  await host.must("start_session", {
    ...wanted(small.repository),
    kind,
    ownerId: ada,
  });
  assert.equal(
    codeOf(await host.ask("link_identity", await request(host, { secret: "rejected" }))),
    "login_failed",
  );
  // As after a crash: the earlier account has ended, and no agent can start with its settings.
  assert.throws(accounts.uses.get(join(placeOf(small), "home"))!, /being replaced/);
  const [identity] = await list(host);
  assert.deepEqual([identity!.authenticated, identity!.way], [false, undefined]);
  await link(host, { secret: "sk-another-0123456789-wxyz" });
  const [again] = await list(host);
  assert.deepEqual([again!.authenticated, again!.account], [true, "…wxyz"]);
  await host.close();
});

test("a link of a former version of the daemon is a login", () => {
  using small = makeSmallHost();
  const homes = openHomes(join(small.directory, "homes"), "ins_small");
  homes.open(ada, kind);
  const former = { account: "ada@example.test", plan: null, expiresAt: null };
  const file = join(small.directory, "homes/ins_small", ada, kind, "link.json");
  writeFileSync(file, JSON.stringify(former));
  assert.deepEqual(homes.find(ada, kind), {
    ownerId: ada,
    kind,
    ...former,
    access: bySubscription,
  });
});
