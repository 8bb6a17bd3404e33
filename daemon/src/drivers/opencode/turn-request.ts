// The request that starts a turn of opencode: a prompt, a slash command, or a summary.
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

/** Contains the file's bytes: opencode would read a path later, when the file may be gone. */
async function filePart({ mime, filename, path }: PromptAttachment): Promise<object> {
  const bytes = await readFile(path, "base64");
  const url = `data:${mime};base64,${bytes}`;
  return { type: "file", mime, url, ...(filename === null ? {} : { filename }) };
}

/**
 * Resolves when the turn has started. opencode answers a command and a summary only when their turn has
 * ended, so `hasBegun` resolves first for them.
 */
export async function sendTurn(
  api: Api,
  request: { path: string; directory: string; body: object; deadlineMs: number },
  hasBegun: Promise<void>,
): Promise<void> {
  const { path, ...details } = request;
  const leaving = new AbortController();
  const answered = api.request("POST", path, { ...details, signal: leaving.signal });
  try {
    await Promise.race([hasBegun, answered]);
  } finally {
    answered.catch(() => {});
    // The turn continues although the driver no longer waits for the answer.
    leaving.abort();
  }
}

/** Whether the server has a resource at this path; false if it does not answer. */
export async function exists(api: Api, path: string, directory: string): Promise<boolean> {
  try {
    await api.request("GET", path, { directory });
    return true;
  } catch {
    return false;
  }
}
