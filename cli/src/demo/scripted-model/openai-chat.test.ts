// The scripted model over the raw protocol of chat completions: which step is played, and how.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Step } from "@hawser/daemon/drivers/scripted/script.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";

let model: ScriptedModel;
before(async () => (model = await startScriptedModel()));
after(() => model[Symbol.asyncDispose]());

interface Chunk {
  choices: {
    delta: {
      content?: string;
      reasoning_content?: string;
      tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string | null;
  }[];
  usage?: Record<string, unknown>;
}

const tools = [{ type: "function", function: { name: "bash" } }];
const script = (steps: Step[]) => `fix it @@${JSON.stringify(steps)}`;
const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

function ask(messages: unknown[], more: object = {}): Promise<Response> {
  return fetch(`${model.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer none" },
    body: JSON.stringify({ model: "stub-1", stream: true, messages, tools, ...more }),
  });
}

async function read(response: Response) {
  assert.equal(response.status, 200);
  const frames = (await response.text()).split("\n\n").filter(Boolean);
  assert.equal(frames.pop(), "data: [DONE]");
  const chunks = frames.map((frame) => JSON.parse(frame.slice("data: ".length)) as Chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    words: choices.flatMap(({ delta }) => (delta.content ? [delta.content] : [])),
    text: choices.map(({ delta }) => delta.content ?? "").join(""),
    reasoning: choices.map(({ delta }) => delta.reasoning_content ?? "").join(""),
    calls: choices.flatMap(({ delta }) => delta.tool_calls ?? []),
    finish: choices.at(-1)?.finish_reason,
    usage: chunks.at(-1)?.usage,
  };
}

const answer = async (messages: unknown[], more?: object) => read(await ask(messages, more));

test("a step is streamed with its thought, words, calls and usage", async () => {
  const steps: Step[] = [
    {
      reasoning: "Hm, so.",
      text: "I look first.\nThen",
      calls: [{ tool: "bash", input: { command: "ls" } }],
      usage: { input: 1000, output: 50, cached: 400, reasoning: 10 },
    },
  ];
  const said = await answer([user(script(steps))]);
  assert.equal(said.reasoning, "Hm, so.");
  assert.equal(said.text, "I look first.\nThen");
  assert.equal(said.words.length, 4);
  assert.equal(said.finish, "tool_calls");
  assert.deepEqual(said.calls[0]?.function, { name: "bash", arguments: '{"command":"ls"}' });
  assert.deepEqual(said.usage, {
    prompt_tokens: 1000,
    completion_tokens: 50,
    total_tokens: 1050,
    prompt_tokens_details: { cached_tokens: 400 },
    completion_tokens_details: { reasoning_tokens: 10 },
  });
  const asked = model.requests.at(-1)!;
  assert.equal(asked.protocol, "openai_chat");
  assert.equal(asked.model, "stub-1");
  assert.deepEqual(asked.tools, ["bash"]);
  assert.equal(asked.authorization, "Bearer none");
  assert.equal(asked.outcome, "answered");
  assert.equal(asked.prompt, script(steps));
});

test("the conversation says which step is next, whatever the tools gave back", async () => {
  const prompt = user(script([{ text: "one" }, { text: "two" }]));
  const tool = { role: "tool", tool_call_id: "x", content: "file" };
  assert.equal((await answer([prompt])).text, "one");
  const second = [user("hello"), assistant("hi"), prompt, assistant("one"), tool, tool];
  assert.equal((await answer(second)).text, "two");
  assert.equal(model.requests.at(-1)?.step, 1);
  const over = await answer([...second, assistant("two")]);
  assert.equal(over.text, "Done.");
  assert.equal(over.finish, "stop");
});

test("what an agent adds in a user's place neither ends nor changes the script", async () => {
  const parts = [
    { type: "text", text: "<system-reminder>see [1]</system-reminder>" },
    { type: "text", text: script([{ text: "one" }, { text: "two" }]) },
    { type: "text", text: "<system-reminder>and [2]</system-reminder>" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
  ];
  const note = user("<system-reminder>be quick</system-reminder>");
  assert.equal((await answer([user(parts)])).text, "one");
  assert.equal((await answer([user(parts), assistant("one"), note])).text, "two");
});

test("a prompt without a script is answered in words, also after one with", async () => {
  const said = await answer([user(script([{ text: "one" }])), assistant("one"), user("thank you")]);
  assert.match(said.text, /"thank you"/);
  assert.deepEqual(said.calls, []);
  assert.equal(model.requests.at(-1)?.kind, "plain");
});

test("a call without tools gets a title or a summary, and plays no script", async () => {
  const title = { role: "system", content: "You write a title for a conversation." };
  const prompt = user(script([{ status: 500 }]));
  const asked = user("Generate a title for this conversation:");
  assert.equal((await answer([title, asked, prompt], { tools: undefined })).text, "fix it");
  const summary = user("Give a detailed summary of our conversation.");
  const said = await answer([prompt, assistant("one"), summary], { tools: [] });
  assert.equal(said.text, "The conversation so far was about: fix it");
});

test("an error comes as often as the script says, then the answer", async () => {
  const prompt = [user(script([{ status: 429, times: 2, retryAfterSeconds: 7, text: "well" }]))];
  for (let time = 0; time < 2; time += 1) {
    const refused = await ask(prompt);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "7");
    assert.match(JSON.stringify(await refused.json()), /"error":{"message":"The script/);
    assert.equal(model.requests.at(-1)?.outcome, "refused");
  }
  assert.equal((await answer(prompt)).text, "well");
});

test("an error that has no answer of its own makes way for the next step", async () => {
  const prompt = [user(script([{ status: 500, times: 1 }, { text: "one" }, { text: "two" }]))];
  assert.equal((await ask(prompt)).status, 500);
  assert.equal((await answer(prompt)).text, "one");
  assert.equal((await answer([...prompt, assistant("one")])).text, "two");
});

test("an error without a number of times is for ever", async () => {
  const prompt = [user(script([{ status: 401, text: "never" }]))];
  for (let time = 0; time < 4; time += 1) {
    const refused = await ask(prompt);
    await refused.text();
    assert.equal(refused.status, 401);
  }
});

test("a cut comes after the text", async () => {
  const response = await ask([user(script([{ text: "so far", cut: true }]))]);
  let seen = "";
  await assert.rejects(async () => {
    for await (const piece of response.body!) seen += Buffer.from(piece).toString();
  });
  assert.match(seen, /"so "[\s\S]*"far"/);
  assert.doesNotMatch(seen, /finish_reason":"stop|DONE/);
  assert.equal(model.requests.at(-1)?.outcome, "cut");
});

test("it waits before the first word and between words", async () => {
  const began = performance.now();
  const response = await ask([user(script([{ text: "a b c", delayMs: 120, paceMs: 60 }]))]);
  const first = performance.now() - began;
  await read(response);
  const all = performance.now() - began;
  assert.ok(first >= 115, `first word after ${first} ms`);
  assert.ok(all >= 235, `last word after ${all} ms`);
});

test("an agent that hangs up is noticed, and nothing goes on", async () => {
  const left = new AbortController();
  const response = await fetch(`${model.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      stream: true,
      tools,
      messages: [user(script([{ text: "a b c d e f g", paceMs: 30_000 }]))],
    }),
    signal: left.signal,
  });
  assert.equal(response.status, 200);
  const asked = model.requests.at(-1)!;
  assert.equal(asked.outcome, "running");
  left.abort();
  for (let round = 0; round < 200 && asked.outcome === "running"; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(asked.outcome, "left");
});

test("a script that is no JSON is refused with the reason", async () => {
  const refused = await ask([user("go @@[{text: nothing}]")]);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /script is not JSON/);
});

test("without streaming the answer comes in one piece", async () => {
  const response = await ask([user(script([{ text: "one" }]))], { stream: false });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  assert.equal(choices[0]?.message.content, "one");
});
