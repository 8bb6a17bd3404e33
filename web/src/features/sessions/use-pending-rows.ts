// What a person has sent, until the log has it.
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { isRefused } from "../../calls/refused.ts";
import { words } from "../../words/words.ts";
import type { DrawnRow, LogSnapshot } from "../session-log/index.ts";
import type { ComposerHandle, Prompts } from "../session-turns/index.ts";

/** Prompts of this page that the log does not have yet, as rows. */
export function usePendingRows(
  prompts: Prompts,
  state: LogSnapshot["state"],
  putBack: ComposerHandle["putBack"],
): readonly DrawnRow[] {
  const list = useSyncExternalStore(prompts.subscribe, prompts.get);
  useEffect(() => {
    if (list.length > 0) prompts.seen(state.hasPrompt);
  }, [prompts, state, list]);
  return useMemo(
    () =>
      list
        .filter(({ messageId }) => messageId === undefined || !state.hasPrompt(messageId))
        .map(({ idempotencyKey, text, state: at, error }): DrawnRow => ({
          is: "pending",
          key: `pending:${idempotencyKey}`,
          seq: null,
          text,
          problem: at === "failed" ? problemOf(error) : undefined,
          onAgain: () => prompts.again(idempotencyKey),
          onTakeBack: () => {
            const taken = prompts.takeBack(idempotencyKey);
            if (taken) putBack([taken.text], taken);
          },
        })),
    [list, prompts, putBack, state],
  );
}

function problemOf(error: unknown): string {
  if (isRefused(error, "queue_full")) return words("session.queue_full");
  return error instanceof Error ? error.message : String(error);
}
