// The doors belong to no product: a registry that has nothing to do with coding is served by them
// unchanged. And what a new field in a result does to a client that knows the earlier schema.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
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

scenario(
  "A client that has stored the schemas of results survives a new field",
  [],
  async ({ world, caller }) => {
    await using earlier = await startToyProduct({ database: world.sql });
    await using newer = await startToyProduct({ database: world.sql, isNewer: true });
    let { baseUrl } = earlier;
    const transport = new StreamableHTTPClientTransport(
      new URL("/api/mcp?outputSchemas=true", baseUrl),
      {
        requestInit: { headers: { authorization: `Bearer ${caller.key}` } },
        // The service is updated while the client is connected.
        fetch: (url, init) => fetch(String(url).replace(earlier.baseUrl, baseUrl), init),
      },
    );
    const client = new Client({ name: "acceptance", version: "1.0.0" });
    await client.connect(transport);
    try {
      await client.callTool({ name: "add_one", arguments: { name: "plums" } });
      const { tools } = await client.listTools();
      const schema = tools.find(({ name }) => name === "read_count")?.outputSchema;
      assert.deepEqual(schema?.["required"], ["name", "count"]);
      assert.equal(schema?.["additionalProperties"], undefined);
      const read = async () =>
        (await client.callTool({ name: "read_count", arguments: { name: "plums" } }))
          .structuredContent;
      assert.deepEqual(await read(), { name: "plums", count: 1 });
      ({ baseUrl } = newer);
      // The client validates this against the schema that it has stored.
      assert.deepEqual(await read(), { name: "plums", count: 1, since: "today" });
    } finally {
      await client.close();
    }
    assert.equal((await caller.try("whoami")).status, 200);
  },
);
