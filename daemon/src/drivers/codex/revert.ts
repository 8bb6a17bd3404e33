// Taking codex's history back to before one of our messages. Codex keeps our id with each prompt, also over
// restarts; only a turn that condenses the history begins without one, so the cursor knows those. Files are
// not codex's to take back.
import type { AppServer } from "./app-server.ts";
import type { Turn } from "./protocol.ts";
import { callMs } from "./shared-server.ts";
import type { Thread } from "./thread.ts";

const pageSize = 50;

export async function revertTo(
  server: AppServer,
  threadId: string,
  thread: Pick<Thread, "condensedBy" | "wentBackTo">,
  messageId: string,
): Promise<"reverted" | "unknown"> {
  const condensed = thread.condensedBy(messageId);
  const isIts = ({ id, items }: Turn) =>
    id === condensed ||
    items.some((item) => item.type === "userMessage" && item.clientId === messageId);
  let found: string | undefined;
  let before: string | null = null;
  for await (const turn of turnsOf(server, threadId)) {
    if (found !== undefined) {
      before = turn.id;
      break;
    }
    if (isIts(turn)) found = turn.id;
  }
  if (found === undefined) return "unknown";
  await server.call("thread/revert", { threadId, beforeTurnId: found }, callMs);
  thread.wentBackTo(before);
  return "reverted";
}

/** The latest first. */
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
