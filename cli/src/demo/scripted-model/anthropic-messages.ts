// The scripted model as an endpoint of Anthropic's messages, which Claude Code speaks.
import { randomUUID } from "node:crypto";
import { textsOf, toolNames } from "./content.ts";
import type { Answer, Dialect, Message } from "./dialect.ts";

interface AnthropicMessage {
  role: string;
  content?: unknown;
}

const errorTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

export const anthropicMessages: Dialect = {
  protocol: "anthropic_messages",
  path: "/v1/messages",

  read(body) {
    const messages = (body.messages ?? []) as AnthropicMessage[];
    return {
      messages: [{ role: "system", texts: textsOf(body.system) }, ...messages.map(readMessage)],
      tools: toolNames(body.tools),
    };
  },

  error: (status, message, type) => ({
    type: "error",
    error: { type: type ?? errorTypes[status] ?? "api_error", message },
  }),

  async *stream(answer) {
    const event = (type: string, data: object = {}) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
    let index = -1;
    const start = (block: object) => {
      index += 1;
      return event("content_block_start", { index, content_block: block });
    };
    const delta = (value: object) => event("content_block_delta", { index, delta: value });
    const stop = () => event("content_block_stop", { index });

    const message = { ...opening(answer), content: [], stop_reason: null, stop_sequence: null };
    yield event("message_start", { message: { ...message, usage: usageOf(answer, 1) } });
    yield event("ping");
    if (answer.reasoning) {
      yield start({ type: "thinking", thinking: "", signature: "" });
      for await (const word of answer.words(answer.reasoning)) {
        yield delta({ type: "thinking_delta", thinking: word });
      }
      yield delta({ type: "signature_delta", signature });
      yield stop();
    }
    if (answer.text) {
      yield start({ type: "text", text: "" });
      for await (const word of answer.words(answer.text)) {
        yield delta({ type: "text_delta", text: word });
      }
      if (!answer.cut) yield stop();
    }
    if (answer.cut) return;
    for (const call of callsOf(answer)) {
      yield start({ ...call, input: {} });
      // In two pieces: a real endpoint never sends it in one.
      const input = JSON.stringify(call.input);
      const half = Math.ceil(input.length / 2);
      yield delta({ type: "input_json_delta", partial_json: input.slice(0, half) });
      yield delta({ type: "input_json_delta", partial_json: input.slice(half) });
      yield stop();
    }
    const end = { stop_reason: reasonOf(answer), stop_sequence: null };
    yield event("message_delta", { delta: end, usage: usageOf(answer, answer.usage.output) });
    yield event("message_stop");
  },

  whole: (answer) => ({
    ...opening(answer),
    content: [
      ...(answer.reasoning ? [{ type: "thinking", thinking: answer.reasoning, signature }] : []),
      ...(answer.text ? [{ type: "text", text: answer.text }] : []),
      ...callsOf(answer),
    ],
    stop_reason: reasonOf(answer),
    stop_sequence: null,
    usage: usageOf(answer, answer.usage.output),
  }),
};

const signature = Buffer.from("scripted").toString("base64");

/** Results of tools are user messages here. A message with nothing else is no prompt. */
function readMessage({ role, content }: AnthropicMessage): Message {
  const isResult = Array.isArray(content) && content.some(isToolResult);
  const texts = textsOf(content);
  if (role === "assistant" || role === "system") return { role, texts };
  return { role: isResult && texts.length === 0 ? "tool" : "user", texts };
}

function isToolResult(part: unknown): boolean {
  return (part as { type?: string }).type === "tool_result";
}

function opening({ model }: Answer) {
  return { id: `msg_${id()}`, type: "message", role: "assistant", model };
}

function callsOf({ calls }: Answer) {
  return calls.map(({ tool, input }) => ({
    type: "tool_use",
    id: `toolu_${id()}`,
    name: tool,
    input,
  }));
}

function reasonOf({ calls }: Answer): string {
  return calls.length > 0 ? "tool_use" : "end_turn";
}

/** This protocol counts cached input separately. */
function usageOf({ usage }: Answer, output: number) {
  return {
    input_tokens: usage.input - usage.cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cached,
    output_tokens: output,
    service_tier: "standard",
  };
}

const id = () => randomUUID().replaceAll("-", "");
