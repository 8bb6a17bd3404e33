// The scripted model as an endpoint of OpenAI's chat completions, which opencode speaks.
import { randomUUID } from "node:crypto";
import { textsOf, toolNames } from "./content.ts";
import type { Answer, Dialect, Message } from "./dialect.ts";

interface ChatMessage {
  role: string;
  content?: unknown;
}

const roles: Record<string, Message["role"]> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

export const openaiChat: Dialect = {
  protocol: "openai_chat",
  path: "/v1/chat/completions",

  read(body) {
    const messages = (body.messages ?? []) as ChatMessage[];
    return {
      messages: messages.map(({ role, content }) => ({
        role: roles[role] ?? "user",
        texts: textsOf(content),
      })),
      tools: toolNames(body.tools),
    };
  },

  error: (status, message, type) => ({
    error: { message, type: type ?? "scripted_error", code: type ?? null, status },
  }),

  async *stream(answer) {
    const head = { ...opening(answer), object: "chat.completion.chunk" };
    const chunk = (delta: unknown, finish: string | null = null) =>
      frame({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
    yield chunk({ role: "assistant", content: "" });
    for await (const word of answer.words(answer.reasoning)) {
      yield chunk({ reasoning_content: word });
    }
    for await (const word of answer.words(answer.text)) yield chunk({ content: word });
    if (answer.cut) return;
    for (const [index, call] of callsOf(answer).entries()) {
      yield chunk({ tool_calls: [{ index, ...call }] });
    }
    yield chunk({}, finishOf(answer));
    yield frame({ ...head, choices: [], usage: usageOf(answer) });
    yield "data: [DONE]\n\n";
  },

  whole(answer) {
    const message = {
      role: "assistant",
      content: answer.text || null,
      ...(answer.calls.length > 0 ? { tool_calls: callsOf(answer) } : {}),
    };
    return {
      ...opening(answer),
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: finishOf(answer) }],
      usage: usageOf(answer),
    };
  },
};

function opening({ model }: Answer) {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
}

function callsOf({ calls }: Answer) {
  return calls.map(({ tool, input }) => ({
    id: `call_${randomUUID().replaceAll("-", "")}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
}

function finishOf({ calls }: Answer): string {
  return calls.length > 0 ? "tool_calls" : "stop";
}

function usageOf({ usage }: Answer) {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
