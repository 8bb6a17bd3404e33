// The scripted model as an endpoint of OpenAI's responses, which codex speaks.
import { randomUUID } from "node:crypto";
import { textsOf, toolNames } from "./content.ts";
import type { Answer, Dialect, Message } from "./dialect.ts";

interface Item {
  type?: string;
  role?: string;
  content?: unknown;
  output?: unknown;
  call_id?: string;
}

const isAnswer = ({ type, role }: Item) =>
  role === "assistant" || type === "reasoning" || (type?.endsWith("_call") ?? false);

export const openaiResponses: Dialect = {
  protocol: "openai_responses",
  path: "/v1/responses",

  read(body) {
    const { input } = body;
    const items: Item[] = Array.isArray(input)
      ? (input as Item[])
      : [{ role: "user", content: input }];
    return {
      messages: items.map(readItem),
      tools: [
        ...toolNames(body.tools),
        // For some models, the conversation itself contains the tools.
        ...items.flatMap(({ type }) => (type === "additional_tools" ? [type] : [])),
      ],
      answersAfter: (index) => countAnswers(items.slice(index + 1)),
    };
  },

  error: (_status, message, type) => ({
    error: { message, type: type ?? "scripted_error", code: type ?? null },
  }),

  async *stream(answer) {
    let number = 0;
    const event = (type: string, data: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...data })}\n\n`;
    const response = opening(answer);
    yield event("response.created", {
      response: { ...response, status: "in_progress", output: [] },
    });
    const output: object[] = [];
    const added = (item: object) =>
      event("response.output_item.added", { output_index: output.length, item });
    const done = (item: object) =>
      event("response.output_item.done", { output_index: output.push(item) - 1, item });

    for (const item of itemsOf(answer)) {
      const place = { item_id: item.id, output_index: output.length };
      switch (item.type) {
        case "reasoning": {
          const summary = { ...place, summary_index: 0 };
          yield added({ ...item, summary: [] });
          const part = { type: "summary_text", text: "" };
          yield event("response.reasoning_summary_part.added", { ...summary, part });
          for await (const delta of answer.words(answer.reasoning)) {
            yield event("response.reasoning_summary_text.delta", { ...summary, delta });
          }
          break;
        }
        case "message":
          yield added({ ...item, status: "in_progress", content: [] });
          for await (const delta of answer.words(answer.text)) {
            yield event("response.output_text.delta", { ...place, content_index: 0, delta });
          }
          if (answer.cut) return;
          break;
        case "custom_tool_call":
          yield added({ ...item, status: "in_progress", input: "" });
          yield event("response.custom_tool_call_input.delta", { ...place, delta: item.input });
          break;
        case "function_call":
          yield added({ ...item, status: "in_progress", arguments: "" });
          yield event("response.function_call_arguments.delta", {
            ...place,
            delta: item.arguments,
          });
          break;
      }
      yield done(item);
    }
    if (answer.cut) return;
    yield event("response.completed", {
      response: { ...response, status: "completed", output, usage: usageOf(answer) },
    });
  },

  whole: (answer) => ({
    ...opening(answer),
    status: "completed",
    output: itemsOf(answer),
    usage: usageOf(answer),
  }),
};

function readItem(item: Item): Message {
  const texts = textsOf(item.content);
  if (item.type?.endsWith("_output")) return { role: "tool", texts: textsOf(item.output) };
  if (isAnswer(item)) return { role: "assistant", texts };
  return { role: item.role === "user" ? "user" : "system", texts };
}

/**
 * An answer consists of several items here. The id of a call contains the number of its answer. An answer
 * without calls is a message that no call of the same answer follows.
 */
function countAnswers(items: Item[]): number {
  let answers = 0;
  let spoken = 0;
  for (const { role, type, call_id } of items) {
    const answer = /^call_(\d+)_/.exec(call_id ?? "")?.[1];
    if (answer !== undefined) {
      answers = Math.max(answers, Number(answer) + 1);
      spoken = 0;
    } else if (role === "assistant" && type !== "reasoning") spoken += 1;
  }
  return answers + spoken;
}

type OutputItem =
  | { type: "reasoning"; id: string; summary: object[]; encrypted_content: string }
  | { type: "message"; id: string; role: "assistant"; status: string; content: object[] }
  | {
      type: "custom_tool_call";
      id: string;
      status: string;
      call_id: string;
      name: string;
      input: string;
    }
  | {
      type: "function_call";
      id: string;
      status: string;
      call_id: string;
      name: string;
      namespace?: string;
      arguments: string;
    };

function itemsOf({ answered, reasoning, text, calls }: Answer): OutputItem[] {
  const items: OutputItem[] = [];
  if (reasoning) {
    const summary = [{ type: "summary_text", text: reasoning }];
    items.push({ type: "reasoning", id: `rs_${id()}`, summary, encrypted_content: "scripted" });
  }
  if (text) {
    const content = [{ type: "output_text", text, annotations: [] }];
    items.push({
      type: "message",
      id: `msg_${id()}`,
      role: "assistant",
      status: "completed",
      content,
    });
  }
  for (const { tool, input } of calls) {
    // The name of a tool in a group contains the group: `multi_agent_v1/spawn_agent`.
    const [name, namespace] = tool.split("/").toReversed() as [string, string?];
    const about = {
      status: "completed",
      call_id: `call_${answered}_${id()}`,
      name,
      ...(namespace !== undefined && { namespace }),
    };
    // A tool with free text as input, such as a patch: the script has the text as `input`.
    if (typeof input.input === "string" && Object.keys(input).length === 1) {
      items.push({ type: "custom_tool_call", id: `ctc_${id()}`, ...about, input: input.input });
    } else {
      const given = JSON.stringify(input);
      items.push({ type: "function_call", id: `fc_${id()}`, ...about, arguments: given });
    }
  }
  return items;
}

function opening({ model }: Answer) {
  const created = Math.floor(Date.now() / 1000);
  return { id: `resp_${id()}`, object: "response", created_at: created, model };
}

function usageOf({ usage }: Answer) {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

const id = () => randomUUID().replaceAll("-", "");
