// Prompts that wait for an earlier turn, above the composer. Nothing is shown, and nothing of it is loaded, while
// nothing waits.
import { Suspense, useCallback, useEffect, useState, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import type { QueueEntry, WaitingRow } from "../session-log/index.ts";
import { WaitingList } from "./lazy.ts";
import { useQueue } from "./use-queue.ts";

const undoneWithinMs = 8_000;

interface WaitingPromptsProps {
  sessionId: string;
  entries: readonly QueueEntry[];
  /** The turn that runs; undefined if none does. */
  turnId: string | undefined;
  /** The host can be asked. */
  isReachable: boolean;
  mayEdit: boolean;
  userId: string | undefined;
  hasRequest: boolean;
  /** Puts a text into the composer, if that is empty. */
  toComposer: (text: string) => boolean;
  /** Adds a text to what the composer has. */
  putBack: (texts: readonly string[]) => void;
  send: (text: string) => void;
}

export function WaitingPrompts({
  sessionId,
  entries,
  turnId,
  isReachable,
  mayEdit,
  userId,
  hasRequest,
  toComposer,
  putBack,
  send,
}: WaitingPromptsProps): ReactNode {
  const mayWait = turnId !== undefined || entries.length > 0;
  const queue = useQueue(sessionId, entries, { isReadable: isReachable && mayWait, turnId });
  const { change } = queue;
  const [removed, setRemoved] = useState<string>();
  const [isEditing, setIsEditing] = useState(false);
  useEffect(() => {
    if (removed === undefined) return undefined;
    const timer = setTimeout(() => setRemoved(undefined), undoneWithinMs);
    return () => clearTimeout(timer);
  }, [removed]);
  const remove = useCallback(
    async ({ messageId, text }: WaitingRow) => {
      await change("remove_queued_prompt", { messageId });
      if (!toComposer(text)) setRemoved(text);
    },
    [change, toComposer],
  );
  return (
    <>
      {removed !== undefined && (
        <p className="note" role="status">
          <span className="grow">{words("waiting.removed")}</span>
          <button
            type="button"
            className="btn sm"
            onClick={() => {
              send(removed);
              setRemoved(undefined);
            }}
          >
            {words("waiting.undo")}
          </button>
        </p>
      )}
      {(queue.rows.length > 0 || isEditing) && (
        <Suspense>
          <WaitingList
            key={sessionId}
            sessionId={sessionId}
            queue={queue}
            isRunning={turnId !== undefined}
            mayChange={mayEdit && isReachable && queue.isShown}
            userId={userId}
            hasRequest={hasRequest}
            onRemove={remove}
            onEditing={setIsEditing}
            putBack={putBack}
          />
        </Suspense>
      )}
    </>
  );
}
