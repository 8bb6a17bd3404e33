// What the agent wrote just before it asked: the reason for its question is often there.
import type { Result } from "../../calls/call.ts";

type Entry = Result<"list_session_events">["events"][number];

/** The last paragraph that the agent itself wrote in the request's turn before the request; undefined if there is none. */
export function saidBefore(events: readonly Entry[], requestId: string): string | undefined {
  const isRequest = ({ update }: Entry) =>
    update.sessionUpdate === "request_raised" && update["requestId"] === requestId;
  const at = events.findLastIndex(isRequest);
  if (at === -1) return undefined;
  const { turnId } = events[at]!;
  const written = events
    .slice(0, at)
    .findLast(
      ({ update, ...entry }) =>
        entry.turnId === turnId &&
        update.sessionUpdate === "agent_message_chunk" &&
        update["parentToolCallId"] === null,
    );
  const { text } = (written?.update["content"] ?? {}) as { text?: string };
  const paragraphs = text?.split(/\n\s*\n/).map((each) => each.replaceAll(/\s+/g, " ").trim());
  return paragraphs?.findLast((each) => each !== "");
}
