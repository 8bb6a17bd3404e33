// How full the model's context is, as a ring beside the cost. From 80 % on it is a warning, with a button that has the
// agent summarize the conversation.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { words } from "../../words/words.ts";
import type { Prompts } from "./prompts.ts";

export interface Context {
  usedTokens: number;
  windowTokens: number;
}

const fullFrom = 80;
const count = new Intl.NumberFormat("en");

export function ContextMeter({
  session: { sessionId, capabilities },
  context: { usedTokens, windowTokens },
  isRunning,
  prompts,
  onProblem,
}: {
  session: Pick<Session, "sessionId" | "capabilities">;
  context: Context;
  isRunning: boolean;
  prompts: Prompts;
  onProblem: (problem: unknown) => void;
}): ReactNode {
  const mayEdit = useMay("sessions:edit");
  const summarize = useChange("summarize_session");
  const percent = Math.min(100, Math.round((usedTokens / windowTokens) * 100));
  const isFull = percent >= fullFrom;
  const label = words("context", {
    percent,
    used: count.format(usedTokens),
    window: count.format(windowTokens),
  });
  const hasOwn = capabilities.includes("summarize");
  const canSummarize = mayEdit && !isRunning && (hasOwn || capabilities.includes("commands"));
  const ask = () => {
    if (!hasOwn) prompts.send("/compact", { command: "compact" });
    else
      summarize.mutate(
        { sessionId },
        { onError: onProblem, onSuccess: () => onProblem(undefined) },
      );
  };
  return (
    <>
      {isFull && canSummarize && (
        <button type="button" className="btn sm" disabled={summarize.isPending} onClick={ask}>
          {words("summarize")}
        </button>
      )}
      <span className={isFull ? "ring full" : "ring"} role="img" aria-label={label} title={label}>
        <svg viewBox="0 0 16 16" aria-hidden>
          <circle cx="8" cy="8" r="6" pathLength="100" />
          <circle cx="8" cy="8" r="6" pathLength="100" strokeDasharray={`${percent} 100`} />
        </svg>
      </span>
    </>
  );
}
