// Sessions with a person's own agent account that the person shares with others.
import assert from "node:assert/strict";
import { agentKeyPermissions } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { firstKeys, linkClaude, loginAtModel, useAccounts } from "../account-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import { startSession } from "../session-steps.ts";

useWorld({ agents: ["claude_code", "codex"], nats: 1 });
const open = useAccounts();

scenario(
  "The owner of an account lets another member prompt one session, and withdraws it (N4)",
  [],
  async (context) => {
    const { world, caller } = context;
    const current = await open(context);
    const { host, ada, bo } = current;
    for (const person of [ada, bo]) {
      await person.revoke_api_key({ apiKeyId: firstKeys.get(person)! });
    }
    await linkClaude(current, ada, "ada@example.test");
    const owner = (await ada.whoami({})).user!;
    const guest = (await bo.whoami({})).user!;
    const { sessionId } = await startSession(ada, host, { agentKind: "claude_code" });
    const another = await startSession(ada, host, { agentKind: "claude_code" });
    const isRefused = async (person: Caller, id = sessionId) =>
      assertRefused(
        await person.try("send_prompt", { sessionId: id, text: "spend it" }),
        403,
        "account_not_yours",
      );
    await isRefused(bo);
    const share = { sessionId, userIds: [guest.userId] };
    assertRefused(await bo.try("share_session", share), 403, "account_not_yours");
    assertRefused(await caller.try("share_session", share), 409, "user_key_required");
    const shared = await ada.share_session(share);
    assert.deepEqual(shared.sharedWith, [guest]);

    // The session still uses the account of its owner, also if somebody else prompts it.
    const used = await loginAtModel(context, bo, sessionId);
    assert.equal(used, await loginAtModel(context, ada, sessionId));
    const { entries } = await caller.list_audit_entries({ limit: 20 });
    const byBo = entries.find(
      ({ action, outcome, actor }) =>
        action === "send_prompt" && outcome === "done" && actor.id === guest.userId,
    );
    assert.deepEqual(byBo?.accountOf, owner);

    // Not another session, not the organization's key, and not a key that an agent of Bo's holds.
    await isRefused(bo, another.sessionId);
    await isRefused(caller);
    const bos = await startSession(bo, host, { agentKind: "claude_code" });
    const agentKey = await world.makeKey(world.organizations[0], agentKeyPermissions, {
      userId: guest.userId,
      sessionId: bos.sessionId,
    });
    const agent = world.callerFor(agentKey);
    assertRefused(await agent.try("share_session", share), 403, "forbidden");
    const byAgent = await agent.try("send_prompt", { sessionId, text: "spend it" });
    assertRefused(byAgent, 404, "not_found");
    assertRefused(
      await bo.try("run_shell", { sessionId, command: "true" }),
      403,
      "account_not_yours",
    );

    const withdrawn = await ada.share_session({ sessionId, userIds: [] });
    assert.deepEqual(withdrawn.sharedWith, []);
    await isRefused(bo);
    for (const [person, session] of [
      [ada, { sessionId }],
      [ada, another],
      [bo, bos],
    ] as const) {
      await person.end_session({ sessionId: session.sessionId });
    }
  },
);
