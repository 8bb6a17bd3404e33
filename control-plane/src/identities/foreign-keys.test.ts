// Linking an account is refused while somebody else may have a key of the user. B is a new member, `owner` a key of
// the organization's owner, and `organization` a key of the organization. The other keys are B's.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { permissionNames, roles } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";

interface Case {
  title: string;
  /** Each names the calling key, what it does, and to which key. */
  steps: string[];
  /** The key that B links with. */
  calling: string;
  /** `done`, or the advised action and the key that the refusal names. */
  outcome: string;
}

const cases: Case[] = [
  {
    title: "the first key itself",
    steps: ["owner creates first"],
    calling: "first",
    outcome: "rotate_api_key first",
  },
  {
    title: "the first key, made with a key of the organization",
    steps: ["organization creates first"],
    calling: "first",
    outcome: "rotate_api_key first",
  },
  {
    title: "a key of B's own, while the first is valid",
    steps: ["owner creates first", "first creates own"],
    calling: "own",
    outcome: "revoke_api_key first",
  },
  {
    title: "a key that the owner made with the first key",
    steps: ["owner creates first", "first creates kept", "first creates own", "own revokes first"],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "a key that was made with the first key, which a key of the organization made",
    steps: [
      "organization creates first",
      "first creates kept",
      "first creates own",
      "own revokes first",
    ],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "a key that descends from the first key through keys that are no longer valid",
    steps: [
      "owner creates first",
      "first creates second",
      "second creates third",
      "third creates kept",
      "first creates own",
      "own revokes first",
      "own revokes second",
      "own revokes third",
    ],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "the first key, rotated by the owner",
    steps: [
      "owner creates first",
      "first rotates first into kept",
      "first creates own",
      "own revokes first",
    ],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "a further key of B's, rotated by the owner with the first key",
    steps: [
      "owner creates first",
      "first creates own",
      "own creates further",
      "first rotates further into kept",
      "own revokes first",
    ],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "a key without a creator, rotated by the owner with the first key",
    steps: [
      "owner creates first",
      "bootstrap creates own",
      "bootstrap creates further",
      "first rotates further into kept",
      "own revokes first",
    ],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "B rotates the first key",
    steps: ["owner creates first", "first replaces first with own"],
    calling: "own",
    outcome: "done",
  },
  {
    title: "B rotates the first key, with which the owner has made another",
    steps: ["owner creates first", "first creates kept", "first replaces first with own"],
    calling: "own",
    outcome: "revoke_api_key kept",
  },
  {
    title: "B ends with one key of their own",
    steps: [
      "owner creates first",
      "first creates kept",
      "first creates own",
      "own revokes first",
      "own revokes kept",
    ],
    calling: "own",
    outcome: "done",
  },
  {
    title: "B makes further keys with the calling key",
    steps: [
      "owner creates first",
      "first replaces first with own",
      "own creates further",
      "further creates last",
    ],
    calling: "own",
    outcome: "done",
  },
  {
    title: "B replaces the other keys with the calling key",
    steps: [
      "owner creates first",
      "first creates kept",
      "first creates own",
      "own replaces kept with further",
      "own replaces first with last",
    ],
    calling: "own",
    outcome: "done",
  },
  {
    title: "keys that were made before creating keys were stored",
    steps: [
      "owner creates first",
      "first creates second",
      "first creates own",
      "own revokes first",
      "nobody remembers creators",
    ],
    calling: "own",
    outcome: "done",
  },
];

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
/** The keys of the present case, by the names in its steps. */
let keys: Map<string, string>;
let userId: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  bed.host.link_identity = () => ({ account: "…abcd" });
});
after(() => bed[Symbol.asyncDispose]());

for (const [index, { title, steps, calling, outcome }] of cases.entries()) {
  test(title, async () => {
    const { organizationId, keys: given, userId: ownerId } = bed.organization;
    const { database } = bed.service;
    const owner = await makeKey(database, organizationId, permissionNames, { userId: ownerId });
    keys = new Map(Object.entries({ owner, organization: given.owner }));
    const member = { email: `b${index}@acme.example`, role: "member" };
    userId = (await node.result("add_member", member, { key: owner }))["userId"] as string;
    for (const step of steps) await carryOut(step);
    assert.equal(await link(calling), outcome);
  });
}

async function carryOut(step: string): Promise<void> {
  const [by, verb, name, , successor] = step.split(" ") as [string, string, string, string, string];
  const key = keys.get(by)!;
  if (verb === "creates" && by === "bootstrap") {
    const { database } = bed.service;
    const { organizationId } = bed.organization;
    keys.set(name, await makeKey(database, organizationId, roles.member, { userId, name }));
  } else if (verb === "creates") {
    const input = { name, scope: "user", permissions: roles.member, userId };
    keys.set(name, (await node.result("create_api_key", input, { key }))["key"] as string);
  } else if (verb === "revokes") {
    await node.result("revoke_api_key", { apiKeyId: idOf(name) }, { key });
  } else if (verb === "remembers") {
    await bed.sql(`UPDATE api_keys SET creator_key_id = NULL WHERE creator_user_id IS NOT NULL`);
  } else {
    const overlapMinutes = verb === "replaces" ? 0 : 60;
    const input = { apiKeyId: idOf(name), overlapMinutes };
    keys.set(successor, (await node.result("rotate_api_key", input, { key }))["key"] as string);
  }
}

/** A key contains its id. */
const idOf = (name: string) => `key_${/^hwk_([a-z0-9]{26})/.exec(keys.get(name)!)![1]}`;

async function link(calling: string): Promise<string> {
  const secret = { kind: "claude_code", way: "api_key", sealedSecret: "eyJ.a.b.c.d" };
  const input = { instanceId: bed.instanceId, ...secret };
  const answer = await node.call("link_agent_identity", input, { key: keys.get(calling)! });
  if (!("refusal" in answer)) return "done";
  const { code, message, details } = answer.refusal;
  assert.equal(code, "login_not_allowed", message);
  const named = [...keys.keys()].find((name) => message.includes(idOf(name)));
  return `${details.nextAction} ${named}`;
}

test("a key that has just expired creates no other, although a node still accepts it", async () => {
  const { organizationId, userId: ownerId } = bed.organization;
  const options = { userId: ownerId, name: "ending" };
  const key = await makeKey(bed.service.database, organizationId, permissionNames, options);
  const input = { name: "kept", scope: "user", permissions: ["instances:view"] };
  await node.result("create_api_key", input, { key });
  await bed.sql(`UPDATE api_keys SET expires_at = hawser_now() WHERE name = 'ending'`);
  await node.result("whoami", {}, { key });
  await assert.rejects(node.result("create_api_key", input, { key }), { code: "unauthenticated" });
});
