// What failed, in the place where it would have been. The rest of the page stays.
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Refused } from "../calls/refused.ts";
import { words } from "../words/words.ts";

/** `what`: the sentence of the page. Without it, the service's own message is the sentence. */
export function Failure({
  error,
  what,
  onTryAgain,
}: {
  error: unknown;
  what?: string;
  onTryAgain?: (() => void) | undefined;
}): ReactNode {
  const own = error instanceof Error ? error.message : String(error);
  const incidentId = error instanceof Refused ? error.refusal.incidentId : undefined;
  return (
    <div className="note red" role="alert">
      <TriangleAlert className="icon" aria-hidden />
      <div className="grow">
        {what && <p className="medium">{what}</p>}
        <p>{own}</p>
        {incidentId && <p className="dim mono">{words("incident", { incidentId })}</p>}
      </div>
      {onTryAgain && (
        <button type="button" className="btn sm" onClick={onTryAgain}>
          {words("try_again")}
        </button>
      )}
    </div>
  );
}
