// What opencode is asked to begin a turn: a prompt, one of its slash commands, or a summary.
import { readFile } from "node:fs/promises";
import type { PromptAttachment, Prompt } from "../driver.ts";
import type { Chosen } from "../offer.ts";
import type { Api } from "./api.ts";

interface Details extends Chosen {
  messageID: string;
  system: string | undefined;
}

const paths = { prompt: "prompt_async", command: "command", summarize: "summarize" } as const;

export const pathOf = ({ task }: Prompt): string => paths[task.type];

export async function bodyOf(prompt: Prompt, details: Details): Promise<object> {
  const { messageID, model, mode, options, system } = details;
  const { task, text } = prompt;
  const variant = options["variant"];
  const more = variant === undefined ? {} : { variant };
  if (task.type === "summarize") {
    return { providerID: model.providerId, modelID: model.modelId, auto: false };
  }
  if (task.type === "command") {
    const named = `${model.providerId}/${model.modelId}`;
    return { messageID, command: task.name, arguments: text, agent: mode, model: named, ...more };
  }
  return {
    messageID,
    parts: [
      ...prompt.context.map((each) => ({ type: "text", text: each, synthetic: true })),
      { type: "text", text },
      ...(await Promise.all(prompt.attachments.map(filePart))),
    ],
    model: { providerID: model.providerId, modelID: model.modelId },
    agent: mode,
    ...more,
    ...(system === undefined ? {} : { system }),
  };
}

/** With its bytes in it: opencode would read an address itself, whenever it likes. */
async function filePart({ mime, filename, path }: PromptAttachment): Promise<object> {
  const bytes = await readFile(path, "base64");
  const url = `data:${mime};base64,${bytes}`;
  return { type: "file", mime, url, ...(filename === null ? {} : { filename }) };
}

/** A command and a summary are answered when they are over; what matters is that they have begun. */
export async function giveTurn(
  api: Api,
  given: { path: string; directory: string; body: object; deadlineMs: number },
  begun: Promise<void>,
): Promise<void> {
  const { path, ...details } = given;
  const leaving = new AbortController();
  const answered = api.request("POST", path, { ...details, signal: leaving.signal });
  try {
    await Promise.race([begun, answered]);
  } finally {
    answered.catch(() => {});
    // It goes on without anybody who waits for the answer.
    leaving.abort();
  }
}

export async function isThere(api: Api, path: string, directory: string): Promise<boolean> {
  try {
    await api.request("GET", path, { directory });
    return true;
  } catch {
    return false;
  }
}
