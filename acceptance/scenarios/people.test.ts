// How people get access: invitations, and sign-ins with a browser. They are extensions of the interface, so no
// requirement is cited. What a cookie may do, and what attackers try, is in control-plane/src/sign-in.
import assert from "node:assert/strict";
import { openTestBrowser, type TestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { newEmail, newMember } from "../new-member.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld({ nodes: 3, nats: 1 });

const password = "correct horse battery";

/** A browser in which a new person has accepted an invitation. */
async function signedIn({ caller, world }: Context) {
  const email = newEmail();
  const { url } = await caller.create_invitation({ email, name: "Kim", role: "viewer" });
  const browser = openTestBrowser(world.baseUrl);
  const invitation = new URL(url).hash.slice(1);
  const reply = await browser.send("/api/sign-in/invitations/accept", { invitation, password });
  assert.equal(reply.status, 200);
  return { browser, email, userId: reply.body["userId"] as string };
}

scenario("An invitation is listed until it is withdrawn or accepted", [], async (context) => {
  const { caller, stranger } = context;
  const email = newEmail();
  const made = await caller.create_invitation({ email, role: "viewer" });
  const { invitationId } = made.invitation;
  const isListed = async (by = caller) =>
    (await by.list_invitations({})).invitations.some((each) => each.invitationId === invitationId);
  assert.deepEqual([await isListed(), await isListed(stranger)], [true, false]);
  assertRefused(await stranger.try("revoke_invitation", { invitationId }), 404, "not_found");
  assert.equal((await caller.revoke_invitation({ invitationId })).email, email);
  assert.equal(await isListed(), false);
  // A repeated call does nothing more.
  await caller.revoke_invitation({ invitationId });
  const bad = { email: "nobody", role: "viewer" };
  assertInvalid(await caller.try("create_invitation", bad), "email");
  await signedIn(context);
  const { members } = await caller.list_members({});
  assert.ok(members.some(({ name, role }) => name === "Kim" && role === "viewer"));
});

scenario("Nobody invites with a role that they lack themselves", [], async ({ world }) => {
  const key = await world.makeKey(world.organizations[0], ["access:edit", "access:view"]);
  const invite = (role: string) =>
    world.callerFor(key).try("create_invitation", { email: newEmail(), role });
  assertRefused(await invite("owner"), 403, "forbidden");
  assertRefused(await invite("member"), 403, "forbidden");
});

scenario(
  "A person sees and ends their own sign-ins with a key, and nobody else's",
  [],
  async (context) => {
    const { caller, world } = context;
    const person = await signedIn(context);
    const made = await person.browser.call(
      world.organizations[0].organizationId,
      "create_api_key",
      {
        name: "laptop",
        scope: "user",
        permissions: ["instances:view", "sessions:view"],
      },
    );
    const as = world.callerFor((made.body["result"] as { key: string }).key);
    const { signIns } = await as.list_sign_ins({});
    assert.deepEqual(
      signIns.map(({ way, device, isCurrent }) => [way, device, isCurrent]),
      [["invitation", "TestBrowser/1", false]],
    );
    const { signInId } = signIns[0]!;
    const other = await newMember(context, "viewer");
    // Somebody else has made the first key of a member.
    assertRefused(await other.as.try("revoke_sign_in", { signInId }), 403, "forbidden");
    assertRefused(await caller.try("list_sign_ins"), 409, "user_key_required");
    assert.deepEqual(await as.revoke_sign_in({ signInId }), { signInId, revoked: true });
    assert.equal((await person.browser.send("/api/sign-in")).status, 401);
  },
);

scenario("A person lets a phone in with four digits, on any node", [], async (context) => {
  const { world } = context;
  const { organizationId } = world.organizations[0];
  const { browser, userId } = await signedIn(context);
  const made = await browser.call(organizationId, "create_device_sign_in");
  const { url } = made.body["result"] as { url: string };
  const phone = openTestBrowser(world.nodes[1]!.baseUrl);
  const link = new URL(url).hash.slice(1);
  const { body } = await phone.send("/api/sign-in/phone/open", { link });
  const digits = body["digits"] as string;
  const confirmed = await browser.call(organizationId, "confirm_device_sign_in", { digits });
  assert.deepEqual(confirmed.body["result"], {
    state: "confirmed",
    triesLeft: 3,
    device: "TestBrowser/1",
  });
  const entered = await openTestBrowser(world.nodes[2]!.baseUrl, phone.cookies).send(
    "/api/sign-in/phone/enter",
    {},
  );
  assert.deepEqual(entered.body, { state: "signed_in", userId });
});

for (const [name, end] of [
  [
    "a revoked sign-in",
    async ({ world }: Context, { browser }: Person) => {
      const { organizationId } = world.organizations[0];
      const listed = await browser.call(organizationId, "list_sign_ins");
      const { signIns } = listed.body["result"] as { signIns: { signInId: string }[] };
      await browser.call(organizationId, "revoke_sign_in", { signInId: signIns[0]!.signInId });
    },
  ],
  [
    "a removed member",
    ({ caller }: Context, { userId }: Person) => caller.remove_member({ userId }),
  ],
  [
    "a changed role",
    ({ caller }: Context, { userId }: Person) => caller.update_member({ userId, role: "member" }),
  ],
] as const) {
  scenario(
    `The open streams of ${name} end within five seconds on every node`,
    [],
    async (context) => {
      const { world } = context;
      const person = await signedIn(context);
      const { organizationId } = world.organizations[0];
      const streams = await Promise.all(
        world.nodes.flatMap(({ baseUrl }) =>
          Array.from({ length: 10 }, () => {
            const there = openTestBrowser(baseUrl, person.browser.cookies);
            return fetch(`${baseUrl}/api/events`, { headers: there.headersFor(organizationId) });
          }),
        ),
      );
      assert.ok(streams.every(({ status }) => status === 200));
      const ended = streams.map(async (stream) => {
        for await (const _piece of stream.body!) void _piece;
        return performance.now();
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
      const endedAt = performance.now();
      await end(context, person);
      const latest = Math.max(...(await Promise.all(ended))) - endedAt;
      assert.ok(latest > 0 && latest <= 5_000, `the last stream ended after ${latest} ms`);
    },
  );
}

type Person = { browser: TestBrowser; userId: string };
