// The changes of a session: the list of files, and the patches of those that are in sight. Both are read again soon
// after something has changed files, and no more often than every two seconds.
import type { Session } from "@hawser/client";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { call, type Result } from "../../calls/call.ts";
import { keyOf } from "../../calls/keys.ts";
import { isRefused } from "../../calls/refused.ts";
import { useRead } from "../../calls/use-call.ts";
import { parsePatch, type Patch } from "./patch.ts";
import { createThrottle } from "./throttle.ts";

export type ChangedFile = Result<"get_session_diff">["files"][number];

export interface ReadPatch {
  patch: Patch;
  /** The patch is larger than what is shown. */
  isCut: boolean;
}

/** The rest of a patch is not read: 20,000 lines are not reviewed in a browser. */
const mostBytes = 1_000_000;
/** A file that changes while it is read is read from its beginning again. */
const mostBeginnings = 3;
const everyMs = 2_000;

async function readPatch(sessionId: string, path: string, signal: AbortSignal): Promise<ReadPatch> {
  for (let beginning = 1; ; beginning++) {
    try {
      let text = "";
      let cursor: string | null = null;
      do {
        const page: Result<"get_session_file_diff"> = await call(
          "get_session_file_diff",
          { sessionId, path, ...(cursor !== null && { cursor }) },
          { signal },
        );
        text += page.patch;
        cursor = page.nextCursor;
      } while (cursor !== null && text.length < mostBytes);
      return { patch: parsePatch(text), isCut: cursor !== null };
    } catch (error) {
      const hasChanged = isRefused(error, "invalid_input");
      if (!hasChanged || beginning === mostBeginnings) throw error;
    }
  }
}

export interface FileRead {
  read: ReadPatch | undefined;
  error: unknown;
}

/** `filesSeq`: the newest entry of the log after which the files may be others. */
export function useChanges({ sessionId, reachable }: Session, filesSeq: number) {
  const list = useRead("get_session_diff", { sessionId });
  const queries = useQueryClient();
  const [again] = useState(() =>
    createThrottle(everyMs, () => {
      for (const action of ["get_session_diff", "get_session_file_diff", "get_session_git"]) {
        void queries.invalidateQueries({ queryKey: [action, { sessionId }] });
      }
    }),
  );
  const [seen] = useState({ filesSeq, reachable });
  useEffect(() => {
    if (seen.filesSeq === filesSeq && seen.reachable === reachable) return;
    Object.assign(seen, { filesSeq, reachable });
    again.ask();
  }, [again, seen, filesSeq, reachable]);
  useEffect(() => again.stop, [again]);
  return list;
}

/** The patches of files that are, or were, in sight. Those that are not any more keep what was read. */
export function usePatches(
  sessionId: string,
  inSight: ReadonlySet<string>,
  files: readonly ChangedFile[],
): ReadonlyMap<string, FileRead> {
  const [wanted, setWanted] = useState<ReadonlySet<string>>(new Set());
  if ([...inSight].some((path) => !wanted.has(path))) setWanted(new Set([...wanted, ...inSight]));
  const paths = useMemo(
    () => files.map(({ path }) => path).filter((path) => wanted.has(path)),
    [files, wanted],
  );
  const reads = useQueries({
    queries: paths.map((path) => ({
      queryKey: keyOf("get_session_file_diff", { sessionId, path }),
      queryFn: ({ signal }: { signal: AbortSignal }) => readPatch(sessionId, path, signal),
      enabled: inSight.has(path),
      structuralSharing: (before: unknown, after: unknown) =>
        (before as ReadPatch | undefined)?.patch.mark === (after as ReadPatch).patch.mark
          ? before
          : after,
    })),
  });
  const [kept] = useState(new Map<string, FileRead>());
  return useMemo(
    () =>
      new Map(
        paths.map((path, at) => {
          const { data: read, error } = reads[at]!;
          const before = kept.get(path);
          // The same object as long as nothing has changed, so that only changed files are drawn again.
          const now = before?.read === read && before?.error === error ? before : { read, error };
          kept.set(path, now);
          return [path, now];
        }),
      ),
    [kept, paths, reads],
  );
}
