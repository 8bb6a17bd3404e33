// Why what is written was not sent, above the field that still has it.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { words } from "../../words/words.ts";

export function RefusedLine({
  problem,
  instanceId,
}: {
  /** A sentence, or the error of a call. */
  problem: unknown;
  instanceId: string;
}): ReactNode {
  return (
    <p className="problem" role="alert">
      {sentenceOf(problem)}{" "}
      {isRefused(problem, "agent_not_ready") && (
        <Link to="/hosts/$instanceId" params={{ instanceId }} className="link">
          {words("composer.open_host")}
        </Link>
      )}
    </p>
  );
}

/** The service's own message names the paths, the limits and what to do. */
function sentenceOf(problem: unknown): string {
  if (isRefused(problem, "queue_full")) return words("session.queue_full");
  if (isRefused(problem, "host_offline")) return words("session.host_offline");
  return problem instanceof Error ? problem.message : String(problem);
}
