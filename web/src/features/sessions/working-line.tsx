// What runs now, and for how long. While the host is not reachable nothing is drawn as running.
import type { ReactNode } from "react";
import { useNow } from "../../design/ago.tsx";
import { Mark } from "../../design/mark.tsx";
import { duration } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import type { RunningTurn } from "../session-log/index.ts";

export function WorkingLine({
  turn,
  reachable,
}: {
  turn: RunningTurn | undefined;
  reachable: boolean;
}): ReactNode {
  const now = useNow(1_000);
  const seconds =
    turn?.startedAt === undefined ? undefined : (now - Date.parse(turn.startedAt)) / 1000;
  const time =
    seconds === undefined ? undefined : duration(Math.max(0, Math.floor(seconds)) * 1000);
  const { running = 0, total = 0 } = turn?.lanes ?? {};
  return (
    <p className="working">
      <Mark state={reachable ? "run" : "off"} />
      <span>
        {words(reachable ? "session.working" : "session.was_working")}
        {reachable && time !== undefined && `, ${time}`}
        {running > 0 && ` · ${words("session.lanes", { running, total })}`}
      </span>
      {reachable && (
        <span className="row push no-phone">
          <kbd className="key">Esc</kbd>
          <kbd className="key">Esc</kbd> {words("session.to_stop")}
        </span>
      )}
    </p>
  );
}
