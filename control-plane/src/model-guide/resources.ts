// Texts about a session that a client can attach to a conversation: what was said, and what was changed.
import type { FileChange, SessionEvent } from "@hawser/contract";
import { passagesOf, saidTypes } from "../session-log/transcript.ts";
import type { CallAction, GuideResource } from "../transports/mcp/guide.ts";

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
    read: (call, { sessionId }) => transcriptOf(call, sessionId!),
  },
  {
    uriTemplate: "hawser://sessions/{sessionId}/diff",
    name: "diff",
    title: "A session's changes",
    description: "Everything that a session has changed, as one patch.",
    mimeType: "text/x-diff",
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
  return `${isCut ? head : ""}${text.slice(-largestText)}`;
}

async function diffOf(call: CallAction, sessionId: string): Promise<string> {
  const { files } = (await call("get_session_diff", { sessionId })) as { files: FileChange[] };
  let text = "";
  for (const { path, added, removed } of files) {
    if (text.length > largestText) {
      text += `# ${path}: ${added} lines added, ${removed} removed; see get_session_file_diff\n`;
      continue;
    }
    for (let cursor: string | null = null; ;) {
      const page = (await call("get_session_file_diff", {
        sessionId,
        path,
        ...(cursor !== null && { cursor }),
      })) as { patch: string; nextCursor: string | null };
      text += page.patch;
      cursor = page.nextCursor;
      if (cursor === null || text.length > largestText) break;
    }
  }
  return text;
}
