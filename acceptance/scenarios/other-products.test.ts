// The doors belong to no product: a registry that has nothing to do with coding is served by them
// unchanged.
import assert from "node:assert/strict";
import { createCaller } from "@hawser/testkit/caller.ts";
import { createToyTables, startToyProduct } from "@hawser/testkit/toy-product.ts";
import { connectMcp, toolNames } from "../mcp-client.ts";
import { assertInvalid, assertRefused, resultOf } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

scenario(
  "Another registry of actions is served by REST, listing and MCP alike",
  ["general.other_products"],
  async ({ world, caller }) => {
    await createToyTables(world.database.url);
    await using toy = await startToyProduct({ database: world.sql });
    const counter = createCaller(toy.baseUrl, caller.key);
    assert.deepEqual(resultOf(await counter.try("add_one", { name: "apples" })), {
      name: "apples",
      count: 1,
    });
    assertInvalid(await counter.try("add_one", { name: "" }), "name");
    assertRefused(await counter.try("read_count", { name: "pears" }), 404, "not_found");
    assertRefused(await counter.try("list_instances"), 404, "unknown_action");
    const viewer = createCaller(toy.baseUrl, world.organizations[0].keys.viewer);
    assertRefused(await viewer.try("add_one", { name: "apples" }), 403, "forbidden");

    const built = ["add_one", "add_one_remotely", "read_count"];
    const listing = await counter.request("/api/rest/actions");
    const { actions } = listing.body as { actions: { name: string }[] };
    assert.deepEqual(actions.map(({ name }) => name).sort(), built);
    const { info } = (await counter.request("/api/openapi.json")).body as { info: object };
    assert.equal((info as { title: string }).title, "Toy API");

    await using client = await connectMcp(toy.baseUrl, caller.key);
    assert.deepEqual(await toolNames(client), built);
    const answer = await client.callTool({ name: "read_count", arguments: { name: "apples" } });
    assert.deepEqual(answer.structuredContent, { name: "apples", count: 1 });
    await using looking = await connectMcp(toy.baseUrl, viewer.key);
    assert.deepEqual(await toolNames(looking), ["read_count"]);
  },
);
