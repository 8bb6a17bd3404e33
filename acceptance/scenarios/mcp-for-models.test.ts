// What the MCP server does for models beyond the actions themselves: fewer tools, instructions, prompts,
// resources, and results that fit into a context.
import assert from "node:assert/strict";
import { registry, type Action, type ActionName } from "@hawser/contract";
import type { ProtocolError } from "@modelcontextprotocol/client";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { connectMcp, toolNames } from "../mcp-client.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

const groupOf = (name: string) => (registry[name as ActionName] as Action).group;

scenario("A client selects toolsets, by query or by header", [], async ({ world, caller }) => {
  await using all = await connectMcp(world.baseUrl, caller.key);
  const names = await toolNames(all);
  const selected = ["sessions", "requests"];
  const expected = names.filter((name) => selected.includes(groupOf(name)));
  for (const how of [
    { query: "?toolsets=sessions,requests" },
    { headers: { "x-mcp-toolsets": "sessions, requests" } },
    { query: "?toolsets=sessions,requests", headers: { "x-mcp-toolsets": "access" } },
  ]) {
    await using client = await connectMcp(world.baseUrl, caller.key, how);
    assert.deepEqual(await toolNames(client), expected);
    await assert.rejects(
      client.callTool({ name: "whoami", arguments: {} }),
      ({ code, message }: ProtocolError) => code === -32602 && /whoami is not among/.test(message),
    );
  }
});

scenario("Tools for people are offered to a client that selects them", [], async (context) => {
  const { world, caller } = context;
  await using usual = await connectMcp(world.baseUrl, caller.key);
  assert.ok((await toolNames(usual)).every((name) => groupOf(name) !== "people"));
  await assert.rejects(
    usual.callTool({ name: "list_roles", arguments: {} }),
    ({ message }: ProtocolError) => /list_roles is not among/.test(message),
  );
  for (const how of [
    { query: "?toolsets=people" },
    { headers: { "x-mcp-toolsets": "people" } },
    { query: "?tools=list_roles" },
  ]) {
    await using client = await connectMcp(world.baseUrl, caller.key, how);
    assert.ok((await toolNames(client)).every((name) => groupOf(name) === "people"));
    const answer = await client.callTool({ name: "list_roles", arguments: {} });
    assert.notEqual(answer.isError, true);
  }
});

scenario("A client selects single tools", [], async ({ world, caller }) => {
  const query = "?tools=whoami,list_sessions";
  await using client = await connectMcp(world.baseUrl, caller.key, { query });
  assert.deepEqual(await toolNames(client), ["list_sessions", "whoami"]);
  const answer = await client.callTool({ name: "whoami", arguments: {} });
  assert.notEqual(answer.isError, true);
});

scenario("Read-only offers and does nothing that changes something", [], async (context) => {
  const { world, caller } = context;
  const before = await caller.list_instances({});
  for (const how of [{ query: "?readonly=true" }, { headers: { "x-mcp-readonly": "true" } }]) {
    await using client = await connectMcp(world.baseUrl, caller.key, how);
    const { tools } = await client.listTools();
    assert.ok(tools.length > 20);
    for (const { name, annotations } of tools) assert.ok(annotations?.readOnlyHint, name);
    await assert.rejects(client.callTool({ name: "create_instance", arguments: { name: "no" } }));
  }
  assert.deepEqual(await caller.list_instances({}), before);
});

scenario("A selection that is not valid is refused", [], async ({ caller }) => {
  const send = (query: string) =>
    caller.request(`/api/mcp?${query}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
  for (const [query, field] of [
    ["toolsets=session", "toolsets"],
    ["toolsets=", "toolsets"],
    ["tools=fly_to_moon", "tools"],
    ["tools=constructor", "tools"],
    ["tools=whoami&toolsets=access", "tools"],
    ["readonly=yes", "readonly"],
    ["outputSchemas=1", "outputSchemas"],
  ]) {
    assertInvalid(await send(query!), field!, query);
  }
  const { message } = assertRefused(await send("toolsets=x"), 400, "invalid_input");
  assert.match(message, /the names are .*sessions/);
});

scenario("The list of tools is small enough for a model", [], async ({ world, caller }) => {
  const sizeFor = async (key: string) => {
    await using client = await connectMcp(world.baseUrl, key);
    return Buffer.byteLength(JSON.stringify(await client.listTools()));
  };
  const { instanceId } = (await caller.create_instance({ name: "with an agent" })).instance;
  const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
  const agent = await caller.create_api_key({
    name: "agent",
    scope: "organization",
    sessionId: sessionId!,
    permissions: ["instances:view", "sessions:view", "sessions:edit"],
  });
  const sizes = { agent: await sizeFor(agent.key), owner: await sizeFor(caller.key) };
  assert.ok(sizes.agent <= 24_000, `agent: ${sizes.agent}`);
  assert.ok(sizes.owner <= 60_000, `owner: ${sizes.owner}`);
});

scenario("The server tells a model how a session goes", [], async ({ world, caller }) => {
  await using client = await connectMcp(world.baseUrl, caller.key);
  const text = client.getInstructions() ?? "";
  assert.ok(text.split("\n").length <= 12, "about ten lines");
  const named = text.match(/\b[a-z]+_[a-z_]+\b/g) ?? [];
  const known = new Set<string>([...Object.keys(registry), "claude_code"]);
  assert.ok(named.length >= 10);
  for (const name of named) assert.ok(known.has(name), name);
});

scenario("Prompts are listed, and filled in with their arguments", [], async (context) => {
  const { world, caller } = context;
  await using client = await connectMcp(world.baseUrl, caller.key);
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map(({ name }) => name).sort(), [
    "delegate_task",
    "review_session",
    "triage_requests",
  ]);
  const { messages } = await client.getPrompt({
    name: "delegate_task",
    arguments: { task: "Fix the flaky test", host: "build-1" },
  });
  const [message] = messages;
  const text = message?.content.type === "text" ? message.content.text : "";
  assert.match(text, /Fix the flaky test/);
  assert.match(text, /the host build-1/);
  await assert.rejects(client.getPrompt({ name: "delegate_task" }), /task is missing/);
  await assert.rejects(client.getPrompt({ name: "no_such_prompt" }), /no prompt/);
});

scenario("A large result is cut, and says where the rest is", [], async ({ world, caller }) => {
  const { instanceId } = (await caller.create_instance({ name: "with many" })).instance;
  const made = await insertSessions(world, world.organizations[0], { instanceId, count: 120 });
  await using client = await connectMcp(world.baseUrl, caller.key);
  const seen = new Set<string>();
  let cursor: string | null = null;
  let pages = 0;
  do {
    const { structuredContent } = await client.callTool({
      name: "search_sessions",
      arguments: { limit: 200, ...(cursor !== null && { cursor }) },
    });
    assert.ok(Buffer.byteLength(JSON.stringify(structuredContent)) <= 20_000);
    const page = structuredContent as {
      sessions: { sessionId: string }[];
      nextCursor: string | null;
    };
    for (const { sessionId } of page.sessions) {
      assert.ok(!seen.has(sessionId), "no entry twice");
      seen.add(sessionId);
    }
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== null && pages < 50);
  for (const sessionId of made) assert.ok(seen.has(sessionId), "no entry is missing");
  assert.ok(pages > 2);
});

scenario("A list without a cursor says what is missing, and how to go on", [], async (context) => {
  const { world, caller } = context;
  const { instanceId } = (await caller.create_instance({ name: "with more" })).instance;
  const made = await insertSessions(world, world.organizations[0], { instanceId, count: 90 });
  type Page = { sessions: { sessionId: string }[]; nextCursor?: string | null };
  for (const era of ["modern", "legacy"] as const) {
    await using client = await connectMcp(world.baseUrl, caller.key, { era });
    const call = async (name: string, input: Record<string, unknown>) => {
      const answer = await client.callTool({ name, arguments: input });
      assert.ok(Buffer.byteLength(JSON.stringify(answer)) <= 20_000, "as it was sent");
      return answer.structuredContent as Page & { cut?: { parts: string[]; rest: string } };
    };
    const first = await call("list_sessions", { instanceId, limit: 200 });
    assert.equal(first.cut?.parts[0], `sessions: ${first.sessions.length} of 90 entries`);
    const [, tool, input] = /^(\w+) with (\{.*\}) returns/.exec(first.cut.rest) ?? [];
    assert.equal(tool, "search_sessions");
    const seen = first.sessions;
    let next = JSON.parse(input!) as { cursor: string | null };
    while (next.cursor !== null) {
      const page = await call("search_sessions", next);
      seen.push(...page.sessions);
      next = { ...next, cursor: page.nextCursor! };
    }
    assert.deepEqual(seen.map(({ sessionId }) => sessionId).sort(), made.toSorted());
  }
});
