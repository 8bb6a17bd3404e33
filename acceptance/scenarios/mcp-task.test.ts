// A task by MCP alone, as a model does it: start, prompt, wait, read the answer, look at the changes, end.
// Counts what the model receives. And the protocol's first SDK, which most clients still use.
import assert from "node:assert/strict";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { ResultOf, registry } from "@hawser/contract";
import { tell } from "../figures.ts";
import { connectMcp } from "../mcp-client.ts";
import { scenario, useWorld } from "../scenario.ts";
import {
  bash,
  runTurn,
  scripted,
  startSession,
  untilAsked,
  untilEnd,
  warmUp,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

type Started = { sessionId: string };
type Waited = ResultOf<(typeof registry)["wait_for_session"]>;

scenario(
  "A model does a task in two turns with 8 calls and 12 kB at most",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    await warmUp(caller, host.instanceId);
    await using client = await connectMcp(world.baseUrl, caller.key);
    let calls = 0;
    let bytes = 0;
    const call = async <Result>(name: string, input: Record<string, unknown>): Promise<Result> => {
      const answer = await client.callTool({ name, arguments: input });
      calls += 1;
      bytes += Buffer.byteLength(JSON.stringify(answer));
      assert.notEqual(answer.isError, true, JSON.stringify(answer));
      return answer.structuredContent as Result;
    };
    const wait = async (sessionId: string, sinceSeq: number): Promise<Waited> => {
      for (let tries = 0; tries < 4; tries++) {
        const input = { sessionId, sinceSeq, timeoutSeconds: 25 };
        const waited = await call<Waited>("wait_for_session", input);
        if (!waited.timedOut) return waited;
      }
      throw new Error("The session did not come to rest.");
    };
    const where = { instanceId: host.instanceId, directory: host.repository };
    const { sessionId } = await call<Started>("start_session", where);
    const edit = {
      calls: [{ tool: "write", input: { filePath: "answer.txt", content: "42\n" } }],
    };
    await call("send_prompt", { sessionId, text: scripted("work", edit, { text: "Written." }) });
    const first = await wait(sessionId, 1);
    assert.deepEqual([first.turnOutcome, first.lastMessage?.text], ["completed", "Written."]);
    const text = scripted("and now?", { text: "The answer is forty-two." });
    await call("send_prompt", { sessionId, text });
    const second = await wait(sessionId, first.lastSeq);
    assert.equal(second.lastMessage?.text, "The answer is forty-two.");
    const diff = await call<{ files: { path: string }[] }>("get_session_diff", { sessionId });
    assert.deepEqual(
      diff.files.map(({ path }) => path),
      ["answer.txt"],
    );
    await call("end_session", { sessionId });
    tell(`a task in two turns by MCP: ${calls} calls, ${bytes} bytes received`);
    assert.ok(calls <= 8, `${calls} calls`);
    assert.ok(bytes <= 12_000, `${bytes} bytes`);
  },
);

scenario("A session's transcript and changes are resources", [], async ({ world, caller }) => {
  const { sessionId } = await startSession(caller, world.hosts[0]!);
  const edit = { calls: [{ tool: "write", input: { filePath: "new.txt", content: "one\n" } }] };
  await runTurn(caller, sessionId, scripted("make it", edit, { text: "Made." }));
  const text = scripted("run it", bash("touch never"), { text: "Not run." });
  const { turnId } = await caller.send_prompt({ sessionId, text });
  const { requestId } = await untilAsked(caller, sessionId);
  await caller.answer_permission({ requestId, answer: "reject" });
  await untilEnd(caller, sessionId, turnId);
  await using client = await connectMcp(world.baseUrl, caller.key);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ["hawser://sessions/{sessionId}/transcript", "hawser://sessions/{sessionId}/diff"],
  );
  const read = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents;
    return content && "text" in content ? content.text : "";
  };
  const transcript = await read(`hawser://sessions/${sessionId}/transcript`);
  assert.match(transcript, /## Prompt\n\n> make it[^]*## Agent\n\n> Made\.[^]*\(turn completed\)/);
  assert.match(transcript, /\n- [^\n(]*new\.txt\n/);
  assert.match(transcript, /\n- [^\n]* \(failed: The user rejected permission/);
  assert.match(await read(`hawser://sessions/${sessionId}/diff`), /\+one/);
  await assert.rejects(read("hawser://sessions/ses_none/transcript"), /no session with this id/);
  await assert.rejects(read("file:///etc/passwd"), /no resource/);
});

scenario("The protocol's first SDK lists and calls tools", [], async ({ world, caller }) => {
  const transport = new StreamableHTTPClientTransport(new URL("/api/mcp", world.baseUrl), {
    requestInit: { headers: { authorization: `Bearer ${caller.key}` } },
  });
  const client = new FirstClient({ name: "first", version: "1.0.0" });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "whoami"));
    const answer = await client.callTool({ name: "whoami", arguments: {} });
    const [text] = answer.content as { type: string; text: string }[];
    assert.deepEqual(JSON.parse(text!.text), answer.structuredContent);
    const { prompts } = await client.listPrompts();
    assert.equal(prompts.length, 3);
    await client.ping();
    // The requests of this client are not counted as requests of the scenario.
    assert.equal((await caller.try("whoami")).status, 200);
  } finally {
    await client.close();
  }
});

scenario("Words in a session's log are found, and so is the session", [], async (context) => {
  const { world, caller } = context;
  const { sessionId } = await startSession(caller, world.hosts[0]!, {
    title: "Look for the Otter",
  });
  await runTurn(caller, sessionId, scripted("where is it?", { text: "It hides below the bank." }));
  const { sessions } = await caller.search_sessions({ query: "otter" });
  assert.deepEqual(
    sessions.map((session) => session.sessionId),
    [sessionId],
  );
  const { matches } = await caller.search_session_events({ sessionId, query: "below the BANK" });
  assert.ok(matches.some(({ type }) => type === "agent_message_chunk"));
});
