// The prompt that is being worked on, in one line under the header; it leads back to the prompt's row.
import type { ReactNode } from "react";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import type { DrawnRow, RunningTurn } from "../session-log/index.ts";
import { useIsShown } from "./use-is-shown.ts";

export function AskedPrompt({
  rows,
  turn,
  onBack,
}: {
  rows: readonly DrawnRow[];
  turn: RunningTurn | undefined;
  onBack: () => void;
}): ReactNode {
  const messageId = turn?.messageId;
  const isShown = useIsShown(messageId);
  if (messageId === undefined || isShown) return null;
  const prompt = rows.findLast((row) => row.is === "prompt" && row.messageId === messageId);
  if (prompt?.is !== "prompt") return null;
  const firstLine = prompt.text.split("\n", 1)[0];
  return (
    <button
      type="button"
      className="asked"
      aria-label={`${words("session.asked")}: ${firstLine}`}
      onClick={onBack}
    >
      <span className="cut">{firstLine}</span>
      <span className="dim push">{clock(prompt.at)}</span>
    </button>
  );
}
