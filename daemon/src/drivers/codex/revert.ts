// Reverts codex's history to before one of our messages. Codex stores our message id with each prompt. A
// turn that condenses the history has no message id, so the cursor stores which message started it. Files
// are restored by the session layer.
import type { AppServer } from "./app-server.ts";
import type { Turn } from "./protocol.ts";
import { callMs } from "./shared-server.ts";
import type { Thread } from "./thread.ts";

const pageSize = 50;

export async function revertTo(
  server: AppServer,
  threadId: string,
  thread: Pick<Thread, "condensedBy" | "onReverted">,
  messageId: string,
): Promise<"reverted" | "unknown"> {
  const condensed = thread.condensedBy(messageId);
  const hasMessage = ({ id, items }: Turn) =>
    id === condensed ||
    items.some((item) => item.type === "userMessage" && item.clientId === messageId);
  let found: string | undefined;
  let before: string | null = null;
  for await (const turn of turnsOf(server, threadId)) {
    if (found !== undefined) {
      before = turn.id;
      break;
    }
    if (hasMessage(turn)) found = turn.id;
  }
  if (found === undefined) return "unknown";
  await server.call("thread/revert", { threadId, beforeTurnId: found }, callMs);
  thread.onReverted(before);
  return "reverted";
}

/** Yields the latest turn first. */
async function* turnsOf(server: AppServer, threadId: string): AsyncGenerator<Turn> {
  let cursor: string | null = null;
  do {
    const page: { data: Turn[]; nextCursor: string | null } = await server.call(
      "thread/turns/list",
      { threadId, cursor, limit: pageSize, sortDirection: "desc", itemsView: "summary" },
      callMs,
    );
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}
