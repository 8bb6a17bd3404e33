// Sends what the composer wrote: a prompt with its files and choices, or one of the agent's slash commands.
import { call } from "../../calls/call.ts";
import type { SendingPrompt } from "../drafts/index.ts";

export function sendPrompt(
  sessionId: string,
  { text, idempotencyKey, command, files = [], choices = {} }: SendingPrompt,
): Promise<{ messageId: string }> {
  const { model, options, agent } = choices;
  if (command !== undefined) {
    const rest = text.slice(command.length + 1).trim();
    return call(
      "run_command",
      {
        sessionId,
        command,
        ...(rest !== "" && { arguments: rest }),
        ...(agent !== undefined && { agent }),
      },
      { idempotencyKey },
    );
  }
  return call(
    "send_prompt",
    {
      sessionId,
      text,
      ...(model && { model: { providerID: model.providerId, modelID: model.modelId } }),
      ...(options && { options }),
      ...(agent !== undefined && { agent }),
      ...(files.length > 0 && {
        attachments: files.map(({ fileId, filename, mime }) => ({ fileId, filename, mime })),
      }),
    },
    { idempotencyKey },
  );
}
