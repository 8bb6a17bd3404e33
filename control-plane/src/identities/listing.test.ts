// The list of agent accounts: what the host reports, who sees which of it, and what is shown while the host is away.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { HostIdentity } from "@hawser/host-protocol";
import { addMember } from "@hawser/testkit/add-member.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let ada: string, bob: string, organization: string;
let adaOwner: string, bobOwner: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  ({ member: ada, owner: organization } = bed.organization.keys);
  ({ key: bob } = await addMember(bed, node, { email: "bob@acme.example", name: "Bob" }));
  await node.result("update_settings", { allowedLogins: ["subscription"] }, { key: organization });
  adaOwner = await ownerOf(ada);
  bobOwner = await ownerOf(bob);
});
after(() => bed[Symbol.asyncDispose]());
afterEach(() => bed.sql(`DELETE FROM agent_accounts`));

/** The owner id under which a user's host stores accounts, as a login sends it. */
async function ownerOf(key: string): Promise<string> {
  const answer = { flow: "device_code", authorizationUrl: "https://login.example", userCode: "AB" };
  bed.host.start_login = () => answer;
  const input = { instanceId: bed.instanceId, kind: "codex" };
  await node.result("start_agent_login", input, { key });
  await bed.sql(`UPDATE agent_logins SET status = 'error'`);
  return bed.asked.at(-1)!.payload["ownerId"] as string;
}

const identity = (ownerId: string, more: Partial<HostIdentity> = {}): HostIdentity => ({
  ownerId,
  kind: "codex",
  authenticated: true,
  account: "someone@example.com",
  plan: "pro",
  expiresAt: null,
  utilization: 12.5,
  utilizationAt: "2026-11-17T10:00:00.000Z",
  problem: null,
  ...more,
});

const reports = (...identities: HostIdentity[]) => {
  bed.host.list_identities = () => ({ identities, separated: true });
};

interface Listed {
  identities: { user: { name: string }; kind: string; authenticated: boolean; warning: string }[];
  separated: boolean | null;
  live: boolean;
  takenAt: string | null;
}

const list = async (key: string, more: object = {}) =>
  (await node.result(
    "list_agent_identities",
    { instanceId: bed.instanceId, ...more },
    { key },
  )) as unknown as Listed;

const namesIn = ({ identities }: Listed) => identities.map(({ user }) => user.name);

test("users see their own accounts, and everybody's only with `all` and instances:edit", async () => {
  reports(identity(adaOwner), identity(bobOwner));
  const own = await list(ada);
  assert.deepEqual(own.identities, [
    {
      user: { userId: bed.organization.userId, name: "ada@acme.example" },
      kind: "codex",
      way: null,
      authenticated: true,
      account: "someone@example.com",
      plan: "pro",
      expiresAt: null,
      utilization: 12.5,
      utilizationAt: "2026-11-17T10:00:00.000Z",
      warning: null,
    },
  ]);
  assert.deepEqual([own.separated, own.live], [true, true]);
  assert.deepEqual(namesIn(await list(bob)), ["Bob"]);
  assert.deepEqual(namesIn(await list(bob, { all: true })), ["ada@acme.example", "Bob"]);
  assert.deepEqual(namesIn(await list(organization)), []);
  assert.deepEqual(namesIn(await list(organization, { all: true })), ["ada@acme.example", "Bob"]);
  const { viewer } = bed.organization.keys;
  assert.deepEqual(namesIn(await list(viewer)), []);
  await assert.rejects(list(viewer, { all: true }), { code: "forbidden" });
});

test("while the host is away, its last answer is shown with its time", async () => {
  reports(identity(adaOwner), identity(bobOwner));
  const { takenAt } = await list(ada);
  bed.host.list_identities = refusing("daemon_outdated");
  const last = await list(ada);
  assert.deepEqual([namesIn(last).length, last.live, last.separated], [1, false, null]);
  assert.ok(Date.parse(last.takenAt!) >= Date.parse(takenAt!));
  delete bed.host.list_identities;
  assert.equal((await list(ada)).live, false);
  // What the host no longer has is no longer listed.
  reports(identity(bobOwner));
  assert.deepEqual(namesIn(await list(ada, { all: true })), ["Bob"]);
  bed.host.list_identities = refusing("host_offline");
  assert.deepEqual(namesIn(await list(ada, { all: true })), ["Bob"]);
  assert.equal((await list(ada)).takenAt, null);
});

test("an account is listed once it is linked, and a listing keeps what was begun in the meantime", async () => {
  reports();
  await ownerOf(ada);
  await bed.sql(`UPDATE agent_logins SET status = 'pending'`);
  const accounts = () => bed.sql(`SELECT FROM agent_accounts`);
  assert.deepEqual(namesIn(await list(ada)), []);
  assert.equal((await accounts()).length, 1, "the attempt is open");
  await bed.sql(`UPDATE agent_logins SET status = 'error'`);
  assert.deepEqual(namesIn(await list(ada)), []);
  assert.equal((await accounts()).length, 0, "the attempt is over, and the host has no account");
});

test("a warning tells when to log in again", async () => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const cases = [
    { expiresAt: null, authenticated: true, shown: true, warning: null },
    { expiresAt: inDays(3.1), authenticated: true, shown: true, warning: null },
    { expiresAt: inDays(2.9), authenticated: true, shown: true, warning: /expires at 2/ },
    { expiresAt: inDays(-1), authenticated: true, shown: true, warning: /probably expired/ },
    { expiresAt: inDays(20), authenticated: false, shown: false, warning: /no longer valid/ },
  ];
  const problem = "The login could not be checked. The service does not answer.";
  reports(identity(adaOwner, { problem }));
  const [unchecked] = (await list(ada)).identities;
  assert.deepEqual([unchecked!.authenticated, unchecked!.warning], [true, problem]);
  for (const { warning: expected, shown, ...reported } of cases) {
    await bed.sql(`DELETE FROM agent_accounts`);
    reports(identity(adaOwner, { kind: "claude_code", ...reported }));
    const [listed] = (await list(ada)).identities;
    const { authenticated, warning } = listed!;
    assert.equal(authenticated, shown);
    if (expected === null) assert.equal(warning, null);
    else {
      assert.match(warning, expected);
      assert.match(warning, /Call start_agent_login with the kind claude_code again/);
    }
  }
});

test("the account of somebody who is no longer a member is listed for nobody, and its removal is owed", async () => {
  const before = adaOwner.replace(/\d+$/, "1700000000000");
  reports(identity(before), identity(bobOwner));
  assert.deepEqual(namesIn(await list(organization, { all: true })), ["Bob"]);
  assert.deepEqual(namesIn(await list(ada)), []);
  const owed = await bed.sql<{ owner_id: string }>(
    `SELECT owner_id FROM agent_accounts WHERE removal_owed`,
  );
  assert.deepEqual(owed, [{ owner_id: before }]);
  // Until the host has confirmed the removal, no listing forgets it.
  reports();
  await list(ada);
  assert.equal((await bed.sql(`SELECT FROM agent_accounts WHERE removal_owed`)).length, 1);
});
