// Says that a person has seen the end of a turn, once for each end: the mark is kept by the service, so that the session
// is read on every device.
import { useIsFetching, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { call, type Result } from "../../calls/call.ts";
import type { LogSnapshot } from "../session-log/index.ts";

/** Returns what to call when the end of the log is in sight. */
export function useReadMark(sessionId: string, { rows }: LogSnapshot): () => void {
  const queries = useQueryClient();
  const endSeq = rows.findLast((row) => row.is === "note" && row.note.of === "turn")?.seq ?? 0;
  const [seenSeq, setSeenSeq] = useState(0);
  const marked = useRef(0);
  // What was read before is in the list of sessions. A mark that changes nothing would still be a change on record.
  const isReading = useIsFetching({ queryKey: ["search_sessions"] }) > 0;
  useEffect(() => {
    if (isReading || seenSeq <= marked.current) return;
    marked.current = seenSeq;
    if (seenSeq <= readSeqOf(queries, sessionId)) return;
    const mark = async () => {
      await call(
        "mark_session_read",
        { sessionId, seq: seenSeq },
        { idempotencyKey: crypto.randomUUID() },
      );
      await queries.invalidateQueries({ queryKey: ["search_sessions"] });
    };
    // It is tried again with the next end of a turn, and when the session is opened again.
    void mark().catch(() => {});
  }, [queries, sessionId, seenSeq, isReading]);

  return useCallback(() => setSeenSeq(endSeq), [endSeq]);
}

function readSeqOf(queries: QueryClient, id: string): number {
  const lists = queries.getQueriesData<{ pages?: Result<"search_sessions">[] }>({
    queryKey: ["search_sessions"],
  });
  const known = lists
    .flatMap(([, data]) => data?.pages ?? [])
    .flatMap(({ sessions }) => sessions)
    .filter((session) => session.sessionId === id);
  return Math.max(0, ...known.map(({ readSeq }) => readSeq ?? 0));
}
