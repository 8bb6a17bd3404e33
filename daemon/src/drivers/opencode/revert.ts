// Reverts opencode's conversation to before one of our messages. opencode reports success for a message
// that it does not have, so the message is searched first and the answer is checked. opencode also restores
// files, not always correctly; the session layer then restores them from its own snapshot.
import { ApiError, type Api } from "./api.ts";
import type { MessageData } from "./frames.ts";
import { isIdFor } from "./message-id.ts";

export async function revertTo(
  api: Api,
  { id, directory }: { id: string; directory: string },
  messageId: string,
  signal: AbortSignal,
): Promise<"reverted" | "unknown"> {
  const path = `/session/${id}`;
  const details = { directory, signal };
  const messages = (await api.request("GET", `${path}/message`, details)) as {
    info: MessageData;
  }[];
  const found = messages.find(({ info }) => info.role === "user" && isIdFor(messageId, info.id))
    ?.info.id;
  if (found === undefined) return "unknown";
  const body = { messageID: found };
  const { revert } = (await api.request("POST", `${path}/revert`, { ...details, body })) as {
    revert?: { messageID: string };
  };
  if (revert?.messageID === found) return "reverted";
  throw new ApiError(200, "opencode did not revert to the message.");
}
