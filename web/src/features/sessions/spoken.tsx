// What a screen reader says by itself: a turn started or ended, a request came, something failed. The transcript itself
// is silent, because a stream of words would never end.
import { useEffect, useRef, useState, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import type { LogSnapshot } from "../session-log/index.ts";

export function Spoken({
  snapshot: { state, rows },
  hasRequest,
}: {
  snapshot: LogSnapshot;
  hasRequest: boolean;
}): ReactNode {
  const [text, setText] = useState("");
  const turnId = state.turn?.turnId;
  const before = useRef({ turnId, hasRequest });
  const last = rows.at(-1);
  const hasFailed =
    last?.is === "note" && last.note.of === "turn" && last.note.end.outcome === "failed";
  useEffect(() => {
    const { turnId: former, hasRequest: hadRequest } = before.current;
    before.current = { turnId, hasRequest };
    if (hasRequest && !hadRequest) setText(words("spoken.request"));
    else if (turnId !== undefined && turnId !== former) setText(words("spoken.started"));
    else if (turnId === undefined && former !== undefined) {
      setText(words(hasFailed ? "spoken.failed" : "spoken.finished"));
    }
  }, [turnId, hasRequest, hasFailed]);
  return (
    <p className="sr" role="status" aria-live="polite">
      {text}
    </p>
  );
}
