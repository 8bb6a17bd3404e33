// The scripted model over the raw protocol of OpenAI's responses.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Step } from "@hawser/daemon/drivers/scripted/script.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";

let model: ScriptedModel;
before(async () => (model = await startScriptedModel()));
after(() => model[Symbol.asyncDispose]());

interface Item {
  type: string;
  name?: string;
  arguments?: string;
  input?: string;
  call_id?: string;
}
interface Frame {
  type: string;
  sequence_number: number;
  delta?: string;
  item?: Item;
  response?: { status: string; output: Item[]; usage?: Record<string, unknown> };
}

const message = (role: string, text: string) => ({
  type: "message",
  role,
  content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
});
const prompt = (steps: Step[]) => message("user", `fix it @@${JSON.stringify(steps)}`);

function ask(input: unknown[], more: object = {}): Promise<Response> {
  const tools = [{ type: "function", name: "exec_command" }, { type: "web_search" }];
  return fetch(`${model.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: "Bearer key-1" },
    body: JSON.stringify({ model: "stub-1", stream: true, input, tools, ...more }),
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

const textOf = (given: Frame[]) =>
  given
    .filter(({ type }) => type === "response.output_text.delta")
    .map(({ delta }) => delta)
    .join("");

test("a step is streamed item by item, with calls of both sorts", async () => {
  const steps: Step[] = [
    {
      reasoning: "Hm, so.",
      text: "I look.",
      calls: [
        { tool: "exec_command", input: { cmd: "ls" } },
        { tool: "apply_patch", input: { input: "*** Begin Patch" } },
      ],
      usage: { input: 1000, output: 50, cached: 400, reasoning: 10 },
    },
    { text: "two" },
  ];
  const given = await frames(await ask([message("developer", "Be good."), prompt(steps)]));
  assert.deepEqual(
    given.map(({ sequence_number }) => sequence_number),
    given.map((_, place) => place),
  );
  assert.equal(given[0]?.type, "response.created");
  assert.equal(textOf(given), "I look.");
  const { output, usage } = given.at(-1)!.response!;
  assert.equal(given.at(-1)?.type, "response.completed");
  assert.deepEqual(
    output.map(({ type }) => type),
    ["reasoning", "message", "function_call", "custom_tool_call"],
  );
  const done = given.filter(({ type }) => type === "response.output_item.done");
  assert.deepEqual(
    done.map(({ item }) => item),
    output,
  );
  assert.equal(output[2]?.arguments, '{"cmd":"ls"}');
  assert.equal(output[3]?.input, "*** Begin Patch");
  assert.deepEqual(usage, {
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 400 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 10 },
    total_tokens: 1050,
  });
  assert.deepEqual(model.requests.at(-1)?.tools, ["exec_command", "web_search"]);
  assert.equal(model.requests.at(-1)?.authorization, "Bearer key-1");

  // The same conversation, with what the agent did, in either order of calls and results.
  const results = output.slice(2).map(({ call_id }) => ({
    type: "function_call_output",
    call_id,
    output: "ok",
  }));
  const [reasoning, said, first, second] = output;
  const between = [reasoning, said, first, results[0], second, results[1]];
  for (const history of [[...output, ...results], between]) {
    assert.equal(textOf(await frames(await ask([prompt(steps), ...history]))), "two");
    assert.equal(model.requests.at(-1)?.step, 1);
  }
});

test("answers without calls are counted too", async () => {
  const steps = prompt([{ text: "one" }, { text: "two" }]);
  const given = await frames(await ask([steps, message("assistant", "one")]));
  assert.equal(textOf(given), "two");
});

test("the last prompt counts, and notes of the agent do not", async () => {
  const note = message("user", "<environment_context>[cwd]</environment_context>");
  const old = [prompt([{ text: "old" }]), message("assistant", "old")];
  const given = await frames(await ask([note, ...old, prompt([{ text: "new" }]), note]));
  assert.equal(textOf(given), "new");
});

test("an error comes as often as the script says, and a cut stream has no end", async () => {
  const flaky = [prompt([{ status: 500, times: 1, text: "well" }])];
  const refused = await ask(flaky);
  assert.equal(refused.status, 500);
  assert.match(await refused.text(), /"message":"The script/);
  assert.equal(textOf(await frames(await ask(flaky))), "well");
  const steps: Step[] = [
    { status: 500, times: 1 },
    { calls: [{ tool: "exec_command", input: {} }] },
    { text: "two" },
  ];
  await ask([prompt(steps)]);
  const { output } = (await frames(await ask([prompt(steps)]))).at(-1)!.response!;
  assert.equal(textOf(await frames(await ask([prompt(steps), ...output]))), "two");
  const cut = await ask([prompt([{ text: "so far", cut: true }])]);
  await assert.rejects(cut.text());
  assert.equal(model.requests.at(-1)?.outcome, "cut");
});
