// The second door: the same actions as tools of a Model Context Protocol server.
import assert from "node:assert/strict";
import {
  registry,
  type Action,
  type ActionName,
  type ErrorBody,
  type InstanceRecord,
} from "@hawser/contract";
import { refusalText, request } from "@hawser/testkit/caller.ts";
import type { CallToolResult, ProtocolError } from "@modelcontextprotocol/client";
import { allToolsets, connectMcp, toolNames } from "../mcp-client.ts";
import { pin } from "../pin.ts";
import { assertRefused, refusalOf, resultOf } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "acceptance", version: "1.0.0" },
  },
};
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** The refusal in a tool's answer, which must be one. */
function refusedTool(result: CallToolResult): ErrorBody["error"] {
  assert.equal(result.isError, true, JSON.stringify(result));
  const { error } = result.structuredContent as ErrorBody;
  // Some clients show a model only the text of an error.
  const [text] = result.content;
  assert.deepEqual(JSON.parse(text?.type === "text" ? text.text : ""), { error });
  return error;
}

function withoutCallId(error: ErrorBody["error"]): object {
  const { callId, ...said } = error;
  assert.match(callId ?? "", /^[\w-]{36}$/);
  return said;
}

scenario(
  "An MCP client initializes and lists tools, with the key that REST takes",
  ["mcp.endpoint", "mcp.auth.same_key"],
  async ({ world, caller }) => {
    assert.equal((await caller.try("list_instances")).status, 200);
    for (const era of ["modern", "legacy"] as const) {
      await using client = await connectMcp(world.baseUrl, caller.key, { era });
      assert.equal(client.getServerVersion()?.name, "hawser");
      assert.ok((await toolNames(client)).includes("list_instances"));
      if (era === "legacy") await client.ping();
    }
  },
);

scenario(
  "A missing or invalid key is refused with 401",
  ["mcp.auth.missing"],
  async ({ world }) => {
    const call = { method: "POST", headers, body: JSON.stringify(initialize) };
    const missing = await request(world.baseUrl, "/api/mcp", call);
    assertRefused(missing, 401, "unauthenticated");
    assert.equal(missing.headers.get("www-authenticate"), "Bearer");
    for (const authorization of ["Bearer nonsense", "Basic x", `Bearer ${"x".repeat(300)}`]) {
      const refused = { ...call, headers: { ...headers, authorization } };
      const reply = await request(world.baseUrl, "/api/mcp", refused);
      assert.deepEqual([reply.status, refusalText(reply)], [401, refusalText(missing)]);
    }
  },
);

scenario(
  "A page of another origin is refused, with or without a key",
  [],
  async ({ caller, world }) => {
    const send = (origin: string) =>
      caller.request("/api/mcp", {
        method: "POST",
        headers: { ...headers, origin },
        body: JSON.stringify(initialize),
      });
    for (const origin of ["http://evil.example.com", "null", `${world.baseUrl}.evil.example`]) {
      assertRefused(await send(origin), 403, "forbidden", origin);
    }
    assert.equal((await send(world.baseUrl)).status, 200);
  },
);

scenario(
  "A tool has its action's name and hints, and every action is a tool",
  ["mcp.tools.name"],
  async ({ world, caller }) => {
    await using client = await connectMcp(world.baseUrl, caller.key, { query: allToolsets });
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), Object.keys(registry).sort());
    for (const { name } of pin.actions) {
      assert.ok(
        tools.some((tool) => tool.name === name),
        name,
      );
    }
    for (const { name, annotations, description } of tools) {
      const { effect, summary, idempotent }: Action = registry[name as ActionName];
      assert.ok(description?.startsWith(summary), name);
      // The protocol's defaults; the last two mean nothing for a tool that only reads.
      const {
        readOnlyHint = false,
        destructiveHint = true,
        idempotentHint = false,
      } = annotations ?? {};
      assert.equal(readOnlyHint, effect === "reads", name);
      if (effect === "reads") continue;
      assert.equal(destructiveHint, effect === "destroys", name);
      assert.equal(idempotentHint, idempotent === true, name);
    }
  },
);

scenario("A tool's input schema is the listing's", [], async ({ world, caller }) => {
  await using client = await connectMcp(world.baseUrl, caller.key, { query: allToolsets });
  const { tools } = await client.listTools();
  await using whole = await connectMcp(world.baseUrl, caller.key, {
    query: `${allToolsets}&outputSchemas=true`,
  });
  const { tools: withResults } = await whole.listTools();
  const listing = (await caller.request("/api/rest/actions")).body as {
    actions: { name: string; input: { additionalProperties: boolean }; result: object }[];
  };
  assert.equal(tools.length, listing.actions.length);
  for (const { name, input, result } of listing.actions) {
    const tool = tools.find((each) => each.name === name);
    assert.deepEqual(tool?.inputSchema, input, name);
    assert.equal(tool?.outputSchema, undefined, name);
    assert.deepEqual(withResults.find((each) => each.name === name)?.outputSchema, result, name);
    assert.equal(input.additionalProperties, false, name);
  }
});

scenario(
  "A tool returns the value that REST returns in result",
  ["mcp.call.result"],
  async ({ world, caller }) => {
    const { instanceId } = (await caller.create_instance({ name: "by both doors" })).instance;
    await using client = await connectMcp(world.baseUrl, caller.key);
    await using earlier = await connectMcp(world.baseUrl, caller.key, { era: "legacy" });
    const calls: [string, Record<string, unknown>][] = [
      ["list_instances", {}],
      ["get_instance", { instanceId }],
      ["search_instances", { query: "by", limit: 1 }],
      ["list_sessions", {}],
      ["whoami", {}],
      ["get_settings", {}],
    ];
    for (const [name, body] of calls) {
      const answer = await client.callTool({ name, arguments: body });
      assert.notEqual(answer.isError, true, name);
      const result = resultOf(await caller.try(name, body));
      assert.deepEqual(answer.structuredContent, result, name);
      assert.deepEqual(answer.content, [], "a result is sent once");
      const old = await earlier.callTool({ name, arguments: body });
      const [text] = old.content;
      assert.deepEqual(old.structuredContent, result, name);
      assert.deepEqual(JSON.parse(text?.type === "text" ? text.text : ""), result);
    }
    const made = await client.callTool({ name: "create_instance", arguments: { name: "by MCP" } });
    const { instance } = made.structuredContent as { instance: InstanceRecord };
    const { instanceId: madeId } = instance;
    assert.equal((await caller.get_instance({ instanceId: madeId })).name, "by MCP");
  },
);

scenario(
  "A refusal through MCP has the code, message and fields of REST",
  ["mcp.call.refusal"],
  async ({ world, caller }) => {
    await using client = await connectMcp(world.baseUrl, caller.key);
    const { userId } = world.organizations[0];
    const calls: [string, Record<string, unknown>, string][] = [
      ["update_instance", { instanceId: "x", name: "n".repeat(81) }, "invalid_input"],
      ["update_instance", { instanceId: "no such id", name: "n" }, "not_found"],
      ["update_instance", {}, "invalid_input"],
      ["get_instance", { instanceId: 7 }, "invalid_input"],
      ["list_instances", { zz: 1 }, "invalid_input"],
      ["remove_member", { userId }, "last_owner"],
      ["list_exposures", { instanceId: "i" }, "not_found"],
      ["send_prompt", {}, "invalid_input"],
    ];
    for (const [name, body, code] of calls) {
      const error = refusedTool(await client.callTool({ name, arguments: body }));
      const rest = await caller.try(name, body);
      assert.equal(error.code, code, name);
      assert.deepEqual(withoutCallId(error), withoutCallId(refusalOf(rest)), name);
    }
  },
);

scenario(
  "A tool without the permission is refused and does nothing",
  ["mcp.call.not_permitted"],
  async ({ world, caller }) => {
    const before = await caller.list_instances({});
    const key = await world.makeKey(world.organizations[0], ["instances:view"]);
    await using client = await connectMcp(world.baseUrl, key);
    assert.ok(!(await toolNames(client)).includes("create_instance"));
    const answer = await client.callTool({ name: "create_instance", arguments: { name: "no" } });
    assert.equal(refusedTool(answer).code, "forbidden");
    assert.deepEqual(await caller.list_instances({}), before);
  },
);

scenario("A name that no action has is an unknown tool", [], async ({ world, caller }) => {
  // A client of 2026 repeats the name in a header, where the longest of these has no room.
  await using client = await connectMcp(world.baseUrl, caller.key, { era: "legacy" });
  const names = [
    "fly_to_moon",
    "__proto__",
    "constructor",
    "toString",
    "",
    "x".repeat(1024 * 1024),
  ];
  for (const name of names) {
    await assert.rejects(client.callTool({ name, arguments: {} }), (error: ProtocolError) => {
      assert.equal(error.code, -32602);
      assert.match(error.message, /Unknown tool/);
      return error.message.length < 300;
    });
  }
  assert.equal((await caller.try("whoami")).status, 200, "the node is alive");
});

scenario("An idempotency key travels in the call's _meta", [], async ({ world, caller }) => {
  await using client = await connectMcp(world.baseUrl, caller.key);
  const call = (key: unknown, name = "once by MCP") =>
    client.callTool({
      name: "create_instance",
      arguments: { name },
      _meta: { "hawser/idempotencyKey": key },
    });
  const first = await call("m1");
  assert.deepEqual((await call("m1")).structuredContent, first.structuredContent);
  assert.equal((await caller.search_instances({ query: "once by" })).instances.length, 1);
  assert.equal(refusedTool(await call("m1", "another")).code, "idempotency_mismatch");
  for (const bad of [7, "", "x".repeat(256), null]) {
    assert.equal(refusedTool(await call(bad)).code, "invalid_input");
  }
  // One key for both doors: REST gives the answer MCP got.
  const rest = await caller.try(
    "create_instance",
    { name: "once by MCP" },
    { "idempotency-key": "m1" },
  );
  assert.deepEqual(resultOf(rest), first.structuredContent);
});

scenario("A key revoked after connecting is refused on the next call", [], async (context) => {
  const { world, caller } = context;
  const made = await caller.create_api_key({
    name: "mcp",
    scope: "organization",
    permissions: ["instances:view"],
  });
  await using client = await connectMcp(world.baseUrl, made.key);
  assert.ok((await toolNames(client)).length > 0);
  await caller.revoke_api_key({ apiKeyId: made.apiKey.apiKeyId });
  await assert.rejects(client.callTool({ name: "whoami", arguments: {} }));
});
