// Reads the queue of a session from its host, and changes it there. What is drawn follows the answers and the log.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { call, type ActionName, type Input } from "../../calls/call.ts";
import { keyOf } from "../../calls/keys.ts";
import { read } from "../../calls/use-call.ts";
import {
  waitingRows,
  type Queue,
  type QueueEntry,
  type WaitingRows,
} from "../session-log/index.ts";

/** While somebody edits, the end of that is in no entry of the log. */
const heldAgainMs = 10_000;

export type QueueAction = Extract<ActionName, `${string}_queued_prompt${"" | "_now"}`>;
export type ChangeQueue = <Name extends QueueAction>(
  action: Name,
  input: Omit<Input<Name>, "sessionId">,
) => Promise<Queue>;

export interface UsedQueue extends WaitingRows {
  /** The host has shown its queue, so its prompts can be changed. */
  isShown: boolean;
  change: ChangeQueue;
  /** Begins, renews or ends this person's hold. */
  hold: (messageId: string, held: boolean) => Promise<void>;
  readAgain: () => Promise<unknown>;
  /** Why the last change was refused. */
  problem: string | undefined;
  clearProblem: () => void;
}

export function useQueue(
  sessionId: string,
  entries: readonly QueueEntry[],
  { isReadable, turnId }: { isReadable: boolean; turnId: string | undefined },
): UsedQueue {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<string>();
  const key = useMemo(() => keyOf("list_queued_prompts", { sessionId }), [sessionId]);
  const { data, refetch } = useQuery({
    ...read("list_queued_prompts", { sessionId }),
    enabled: isReadable,
    refetchInterval: ({ state }) =>
      state.data?.prompts.some(({ holds }) => holds.length > 0) ? heldAgainMs : false,
  });
  const newest = entries.at(-1)?.seq ?? 0;
  const seen = useRef({ newest, turnId });
  useEffect(() => {
    if (seen.current.newest === newest && seen.current.turnId === turnId) return;
    seen.current = { newest, turnId };
    if (isReadable) void refetch();
  }, [isReadable, newest, turnId, refetch]);
  const send = useCallback<ChangeQueue>(
    async (action, input) => {
      const wanted = { ...input, sessionId } as unknown as Input<typeof action>;
      const idempotencyKey = crypto.randomUUID();
      const queue: Queue = await call(action, wanted, { idempotencyKey });
      queries.setQueryData<Queue>(key, (known) =>
        known && known.version > queue.version ? known : queue,
      );
      return queue;
    },
    [queries, key, sessionId],
  );
  const hold = useCallback(
    async (messageId: string, held: boolean) => {
      await send("hold_queued_prompt", { messageId, held });
    },
    [send],
  );
  const change = useCallback<ChangeQueue>(
    async (action, input) => {
      setProblem(undefined);
      try {
        return await send(action, input);
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
        void refetch();
        throw error;
      }
    },
    [send, refetch],
  );
  const clearProblem = useCallback(() => setProblem(undefined), []);
  const rows = useMemo(() => waitingRows(data, entries), [data, entries]);
  return {
    ...rows,
    isShown: data !== undefined,
    change,
    hold,
    readAgain: refetch,
    problem,
    clearProblem,
  };
}
