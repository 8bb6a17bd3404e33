// Every set of permissions against every action, over both doors. Which permission an action asks
// for comes from the pin and, for our extensions, from the table below; not from the registry.
import assert from "node:assert/strict";
import { actionNames, type ActionName, type ErrorBody, type Permission } from "@hawser/contract";
import { concurrently } from "../concurrently.ts";
import { allToolsets, connectMcp, toolNames } from "../mcp-client.ts";
import { pin } from "../pin.ts";
import { assertRefused, refusalOf } from "../refusal.ts";
import type { RequirementId } from "../requirement-ids.ts";
import { requirements } from "../requirements.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld({ environment: { HAWSER_RATE_PER_SECOND: "20000", HAWSER_RATE_BURST: "20000" } });

/** The actions that the interface's document does not know. Null: any valid key will do. */
const extensions: Record<string, Permission | null> = {
  search_instances: "instances:view",
  refresh_instance: "instances:edit",
  link_agent_identity: "instances:view",
  search_sessions: "sessions:view",
  list_session_events: "sessions:view",
  search_session_events: "sessions:view",
  list_session_turns: "sessions:view",
  list_session_commands: "sessions:view",
  wait_for_session: "sessions:view",
  get_session_file_diff: "sessions:view",
  get_session_git: "sessions:view",
  list_parked_sessions: "sessions:view",
  restore_session: "sessions:edit",
  search_requests: "sessions:view",
  get_request: "sessions:view",
  mark_session_read: "sessions:view",
  preview_scheduled_prompt: "sessions:view",
  run_scheduled_prompt_now: "sessions:edit",
  list_schedule_runs: "sessions:view",
  list_triggers: "sessions:view",
  create_trigger: "sessions:edit",
  update_trigger: "sessions:edit",
  delete_trigger: "sessions:edit",
  set_session_mode: "sessions:edit",
  share_session: "sessions:edit",
  list_queued_prompts: "sessions:view",
  update_queued_prompt: "sessions:edit",
  hold_queued_prompt: "sessions:edit",
  move_queued_prompt: "sessions:edit",
  remove_queued_prompt: "sessions:edit",
  send_queued_prompt_now: "sessions:edit",
  read_session_entry: "sessions:view",
  list_session_rules: "sessions:view",
  forget_session_rule: "sessions:edit",
  list_webhooks: "access:view",
  create_webhook: "access:edit",
  update_webhook: "access:edit",
  delete_webhook: "access:edit",
  list_session_ports: "sessions:view",
  create_preview: "sessions:edit",
  revoke_exposure: "sessions:edit",
  test_webhook: "access:edit",
  list_webhook_deliveries: "access:view",
  redeliver_webhook: "access:edit",
  whoami: null,
  list_api_keys: "access:view",
  create_api_key: "access:edit",
  rotate_api_key: "access:edit",
  revoke_api_key: "access:edit",
  list_members: "access:view",
  add_member: "access:edit",
  update_member: "access:edit",
  remove_member: "access:edit",
  get_settings: "access:view",
  update_settings: "access:edit",
  list_audit_entries: "access:view",
  list_roles: "access:view",
  create_role: "access:edit",
  update_role: "access:edit",
  delete_role: "access:edit",
  grant_session: "sessions:edit",
  list_session_grants: "sessions:view",
  revoke_session_grant: "sessions:edit",
  create_session_link: "sessions:edit",
  revoke_session_link: "sessions:edit",
  open_session_link: null,
  create_invitation: "access:edit",
  get_sign_in_settings: "access:view",
  update_sign_in_settings: "access:edit",
  list_connected_identities: "access:view",
  remove_connected_identity: "access:edit",
  list_invitations: "access:view",
  revoke_invitation: "access:edit",
  list_sign_ins: null,
  revoke_sign_in: null,
  create_device_sign_in: null,
  confirm_device_sign_in: null,
};

const needed = new Map<ActionName, Permission | null>([
  ...pin.actions.map(({ name, permission }): [ActionName, Permission] => [name, permission]),
  ...(Object.entries(extensions) as [ActionName, Permission | null][]),
]);

const six = pin.permissions;

/** All 64 subsets of the six, and the access permissions by themselves and together. */
const subsets: Permission[][] = [
  ...Array.from({ length: 2 ** six.length }, (_, bits) =>
    six.filter((_permission, index) => bits & (1 << index)),
  ),
  ["access:view"],
  ["access:edit"],
  ["access:view", "access:edit"],
  [...six, "access:view"],
  [...six, "access:edit"],
];

const may = (subset: Permission[], action: ActionName) => {
  const permission = needed.get(action);
  return permission === null || (permission !== undefined && subset.includes(permission));
};

// Made once, when the first scenario asks for them; every scenario uses the same keys.
let made: Promise<{ subset: Permission[]; key: string }[]> | undefined;
function keysIn({ world }: Context) {
  return (made ??= concurrently(
    subsets,
    async (subset) => ({ subset, key: await world.makeKey(world.organizations[0], subset) }),
    4,
  ));
}

scenario("Every action of the registry is in the table of permissions", [], async (context) => {
  assert.deepEqual([...needed.keys()].sort(), [...actionNames].sort());
  assert.equal(needed.size, 126);
  assert.equal((await keysIn(context)).length, 69);
  assert.equal((await context.caller.try("whoami")).status, 200);
});

for (const [action, permission] of needed) {
  const id = `${action}.permission`;
  const ids = requirements.some((row) => row.id === id) ? [id as RequirementId] : [];
  const title = permission
    ? `${action} is for keys with ${permission}, and nothing else stands in for it`
    : `${action} is for every valid key`;
  scenario(title, ids, async (context) => {
    const { world } = context;
    await concurrently(await keysIn(context), async ({ subset, key }) => {
      const reply = await world.callerFor(key).try(action, {});
      const about = `${action} with ${subset.join(" ") || "no permission"}`;
      if (!may(subset, action)) assertRefused(reply, 403, "forbidden", about);
      else if (action === "list_sign_ins") {
        assertRefused(reply, 409, "user_key_required", "the key of an organization");
      } else if (action === "create_device_sign_in") {
        assertRefused(reply, 409, "sign_in_first", "a key, which is no browser");
      } else assert.ok([200, 400].includes(reply.status), `${about}: ${reply.text}`);
    });
  });
}

scenario(
  "A single permission allows its own actions of the interface, and no other",
  ["auth.permission.single"],
  async ({ world }) => {
    const [organization] = world.organizations;
    for (const permission of six) {
      const caller = world.callerFor(await world.makeKey(organization, [permission]));
      const replies = await concurrently(pin.actions, ({ name }) => caller.try(name, {}));
      const open = pin.actions.filter((_action, index) => replies[index]!.status !== 403);
      assert.deepEqual(
        open.map(({ name }) => name),
        pin.actions.filter((each) => each.permission === permission).map(({ name }) => name),
        permission,
      );
    }
  },
);

scenario(
  "The tools of a key are exactly the actions it may call, for every set of permissions",
  ["mcp.tools.permitted"],
  async (context) => {
    const { world } = context;
    await concurrently(
      await keysIn(context),
      async ({ subset, key }) => {
        await using client = await connectMcp(world.baseUrl, key, { query: allToolsets });
        assert.deepEqual(
          await toolNames(client),
          actionNames.filter((name) => may(subset, name)).sort(),
          subset.join(" "),
        );
      },
      4,
    );
  },
);

scenario("The listing shows a key exactly what its tools are", [], async (context) => {
  const { world } = context;
  await concurrently(await keysIn(context), async ({ subset, key }) => {
    const reply = await world.callerFor(key).request("/api/rest/actions");
    const { actions } = reply.body as { actions: { name: ActionName }[] };
    const expected = actionNames.filter((name) => may(subset, name));
    assert.deepEqual(actions.map(({ name }) => name).sort(), expected.sort());
  });
});

scenario("A tool call is refused exactly where the REST call is", [], async (context) => {
  const { world } = context;
  // Each permission by itself, and each set that lacks just one of the six.
  const keys = (await keysIn(context)).filter(
    ({ subset }) => subset.length === 1 || subset.length === 5,
  );
  await concurrently(
    keys,
    async ({ subset, key }) => {
      await using client = await connectMcp(world.baseUrl, key, { query: allToolsets });
      for (const name of actionNames) {
        const answer = await client.callTool({ name, arguments: {} });
        const error = (answer.structuredContent as Partial<ErrorBody> | undefined)?.error;
        const about = `${name} with ${subset.join(" ")}: ${JSON.stringify(error)}`;
        assert.equal(
          answer.isError === true && error?.code === "forbidden",
          !may(subset, name),
          about,
        );
      }
    },
    4,
  );
});

scenario(
  "Listing every user's identities also needs instances:edit",
  ["auth.identities.all"],
  async ({ world }) => {
    const [organization] = world.organizations;
    const good = [200, 404];
    const ask = async (permissions: Permission[], all: boolean) =>
      world
        .callerFor(await world.makeKey(organization, permissions))
        .try("list_agent_identities", { instanceId: "x", all });
    const refused = await ask(["instances:view"], true);
    assert.ok(refusalOf(refused).message.includes("instances:edit"));
    assertRefused(refused, 403, "forbidden");
    assert.ok(good.includes((await ask(["instances:view"], false)).status));
    assert.ok(good.includes((await ask(["instances:view", "instances:edit"], true)).status));
    assertRefused(await ask(["instances:edit"], true), 403, "forbidden");
  },
);
