// The scripted model over Anthropic's raw protocol.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Step } from "@hawser/daemon/drivers/scripted/script.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";

let model: ScriptedModel;
before(async () => (model = await startScriptedModel()));
after(() => model[Symbol.asyncDispose]());

interface Frame {
  type: string;
  index?: number;
  content_block?: { type: string; name?: string };
  delta?: {
    type?: string;
    text?: string;
    thinking?: string;
    partial_json?: string;
    stop_reason?: string;
  };
  usage?: Record<string, number>;
}

const prompt = (steps: Step[]) => ({
  role: "user",
  content: [
    { type: "text", text: "<system-reminder>the date is [today]</system-reminder>" },
    { type: "text", text: `fix it @@${JSON.stringify(steps)}` },
  ],
});
const result = (more: object[] = []) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "file" }, ...more],
});
const assistant = (text: string) => ({ role: "assistant", content: [{ type: "text", text }] });

function ask(messages: unknown[], more: object = {}): Promise<Response> {
  const tools = [{ name: "Bash", input_schema: {} }];
  return fetch(`${model.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: { "x-api-key": "key-1" },
    body: JSON.stringify({ model: "stub-1", stream: true, messages, tools, ...more }),
  });
}

async function frames(response: Response): Promise<Frame[]> {
  assert.equal(response.status, 200);
  return (await response.text())
    .split("\n\n")
    .filter(Boolean)
    .map((frame) => {
      const [name, data] = frame.split("\n");
      const value = JSON.parse(data!.slice("data: ".length)) as Frame;
      assert.equal(name, `event: ${value.type}`);
      return value;
    });
}

const textOf = (given: Frame[]) => given.map(({ delta }) => delta?.text ?? "").join("");

test("a step is streamed as blocks, each opened and closed", async () => {
  const given = await frames(
    await ask([
      prompt([
        {
          reasoning: "Hm, so.",
          text: "I look.",
          calls: [
            { tool: "Bash", input: { command: "ls" } },
            { tool: "Bash", input: {} },
          ],
          usage: { input: 1000, output: 50, cached: 400 },
        },
      ]),
    ]),
  );
  assert.equal(given[0]?.type, "message_start");
  assert.equal(given.at(-1)?.type, "message_stop");
  const blocks = given.filter(({ type }) => type === "content_block_start");
  const closed = given.filter(({ type }) => type === "content_block_stop");
  assert.deepEqual(
    blocks.map(({ content_block }) => content_block?.type),
    ["thinking", "text", "tool_use", "tool_use"],
  );
  assert.deepEqual(
    blocks.map(({ index }) => index),
    closed.map(({ index }) => index),
  );
  assert.equal(given.map(({ delta }) => delta?.thinking ?? "").join(""), "Hm, so.");
  assert.equal(textOf(given), "I look.");
  const input = given.filter(({ index }) => index === 2).map(({ delta }) => delta?.partial_json);
  assert.equal(input.join(""), '{"command":"ls"}');
  const end = given.at(-2);
  assert.equal(end?.delta?.stop_reason, "tool_use");
  assert.equal(end?.usage?.["input_tokens"], 600);
  assert.equal(end?.usage?.["cache_read_input_tokens"], 400);
  assert.equal(end?.usage?.["output_tokens"], 50);
  assert.equal(model.requests.at(-1)?.protocol, "anthropic_messages");
  assert.equal(model.requests.at(-1)?.authorization, "key-1");
});

test("results of tools and notes beside them do not count as prompts", async () => {
  const started = prompt([{ text: "one" }, { text: "two" }, { text: "three" }]);
  const note = { type: "text", text: "<system-reminder>todo</system-reminder>" };
  const second = [started, assistant("one"), result()];
  assert.equal(textOf(await frames(await ask(second))), "two");
  const third = [...second, assistant("two"), result([note]), { role: "system", content: "note" }];
  const given = await frames(await ask(third));
  assert.equal(textOf(given), "three");
  assert.equal(given.at(-2)?.delta?.stop_reason, "end_turn");
});

test("errors have Anthropic's shape, and a cut stream is answered whole when asked again", async () => {
  const refused = await ask([prompt([{ status: 529, retryAfterSeconds: 3 }])]);
  assert.equal(refused.status, 529);
  assert.equal(refused.headers.get("retry-after"), "3");
  const { type, error } = (await refused.json()) as { type: string; error: { type: string } };
  assert.deepEqual([type, error.type], ["error", "overloaded_error"]);

  const cut = [prompt([{ text: "so far", cut: true, times: 1 }])];
  const response = await ask(cut);
  await assert.rejects(response.text());
  const whole = (await (await ask(cut, { stream: false })).json()) as { content: object[] };
  assert.deepEqual(whole.content, [{ type: "text", text: "so far" }]);
});

test("a call without tools gets a title; tokens are counted; someone is there", async () => {
  const system = [{ type: "text", text: "Write a short title." }];
  const given = await frames(await ask([prompt([{ text: "no" }])], { tools: [], system }));
  assert.equal(textOf(given), "fix it");
  const count = await fetch(`${model.url}/v1/messages/count_tokens`, {
    method: "POST",
    body: "{}",
  });
  assert.deepEqual(await count.json(), { input_tokens: 1000 });
  assert.equal((await fetch(model.url, { method: "HEAD" })).status, 200);
});
