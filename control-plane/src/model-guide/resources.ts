// Texts about a session that a client can attach to a conversation: what was said, and what was changed.
import type { SessionEvent } from "@hawser/contract";
import { passagesOf, saidTypes } from "../session-log/transcript.ts";
import type { CallAction, GuideResource } from "../transports/mcp/guide.ts";
import { diffOf } from "./session-diff.ts";

/** The largest text of a resource, in characters. */
const largestText = 200_000;
const mostEntries = 500;
const mostBytes = 2 * 1024 * 1024;

export const resources: readonly GuideResource[] = [
  {
    uriTemplate: "hawser://sessions/{sessionId}/transcript",
    name: "transcript",
    title: "A session's transcript",
    description:
      "What was asked and answered in a session, and which tools were called and failed, as text.",
    mimeType: "text/markdown",
    completes: { action: "list_session_events", shows: "has longer messages" },
    needs: ["list_session_events"],
    read: (call, { sessionId }) => transcriptOf(call, sessionId!),
  },
  {
    uriTemplate: "hawser://sessions/{sessionId}/diff",
    name: "diff",
    title: "A session's changes",
    description: "What a session has changed, as one patch. Files that do not fit are named.",
    mimeType: "text/x-diff",
    completes: { action: "get_session_diff", shows: "names all files" },
    needs: ["get_session_diff", "get_session_file_diff"],
    read: (call, { sessionId }) => diffOf(call, sessionId!),
  },
];

/** Reads one page from the end, so that a long log costs no more calls than a short one. */
async function transcriptOf(call: CallAction, sessionId: string): Promise<string> {
  const page = { tail: true, limit: mostEntries, maxBytes: mostBytes };
  const input = { sessionId, types: saidTypes, ...page };
  const { events } = (await call("list_session_events", input)) as { events: SessionEvent[] };
  const passages = passagesOf(
    events.map(({ update }) => update as { sessionUpdate: string }),
    { showsFailures: true },
  );
  const text = passages.join("\n\n");
  // A page ends early if its entries are large. PostgreSQL counts more bytes than we do.
  const bytes = Buffer.byteLength(JSON.stringify(events));
  const isFull = events.length >= mostEntries || bytes > mostBytes * 0.8;
  const isCut = isFull || text.length > largestText;
  const head = "(Earlier passages are left out; list_session_events has them.)\n\n";
  return `${isCut ? head : ""}${text.slice(-largestText).toWellFormed()}`;
}
