// The promised actions that this version does not have: each check that comes before a handler runs
// for them too, and nobody is offered them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { actionNames } from "@hawser/contract";
import { request } from "@hawser/testkit/caller.ts";
import { concurrently } from "../concurrently.ts";
import { connectMcp, toolNames } from "../mcp-client.ts";
import { notBuilt } from "../not-built.ts";
import { pin } from "../pin.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import { validBody } from "../valid-body.ts";

useWorld();

scenario("The list of unbuilt actions is the control plane's own", [], async ({ caller }) => {
  assert.equal(new Set(notBuilt).size, 0);
  const source = new URL("../../control-plane/src/not-yet.ts", import.meta.url);
  const listed = readFileSync(source, "utf8").matchAll(/^ {2}"(\w+)",$/gm);
  assert.deepEqual([...listed].map(([, name]) => name!).sort(), [...notBuilt].sort());
  // And what the service says of itself agrees.
  const replies = await concurrently(actionNames, (name) => caller.try(name, bodyOf(name)));
  const answered501 = actionNames.filter((_name, index) => replies[index]!.status === 501);
  assert.deepEqual(answered501.sort(), [...notBuilt].sort());
});

/** A valid body for what is pinned; the extensions are all built, and any body shows it. */
function bodyOf(name: string): object {
  const action = pin.actions.find((each) => each.name === name);
  return action ? validBody(action) : { zz: 1 };
}

scenario(
  "None of them is listed, described or offered as a tool",
  [],
  async ({ caller, world }) => {
    const listing = await caller.request("/api/rest/actions");
    const { actions } = listing.body as { actions: { name: string }[] };
    const description = await request(world.baseUrl, "/api/openapi.json");
    const { paths } = description.body as { paths: Record<string, object> };
    await using client = await connectMcp(world.baseUrl, caller.key);
    const tools = await toolNames(client);
    assert.equal(actions.length + notBuilt.length, actionNames.length);
    for (const name of notBuilt) {
      assert.ok(!tools.includes(name), name);
      assert.ok(
        actions.every((action) => action.name !== name),
        name,
      );
      assert.ok(!Object.hasOwn(paths, `/api/rest/actions/${name}`), name);
    }
  },
);

for (const name of notBuilt) {
  scenario(
    `${name} is refused as not built, after every other check`,
    [],
    async ({ caller, world }) => {
      const body = bodyOf(name);
      const { message } = assertRefused(await caller.try(name, body), 501, "not_implemented");
      assert.ok(message.includes(name));
      assertInvalid(await caller.try(name, { ...body, zz: 1 }), "zz");
      const { permission } = pin.actions.find((action) => action.name === name)!;
      const others = pin.permissions.filter((each) => each !== permission);
      const weak = world.callerFor(await world.makeKey(world.organizations[0], others));
      assertRefused(await weak.try(name, { ...body, zz: 1 }), 403, "forbidden");
      const anonymous = await request(world.baseUrl, `/api/rest/actions/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      assertRefused(anonymous, 401, "unauthenticated");
    },
  );
}
