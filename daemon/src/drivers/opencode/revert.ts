// Taking opencode's conversation back to before one of our messages. opencode answers a message it does
// not know with success, so the message is looked for first, and what it has done is read in the answer.
// It also writes files as it thinks they were; the session layer puts the right ones in their place.
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
  throw new ApiError(200, "opencode did not go back to the message.");
}
