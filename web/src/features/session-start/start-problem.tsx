// Why a session was not started, or why nobody knows; what was written stays.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isRefused, Refused } from "../../calls/refused.ts";
import { words } from "../../words/words.ts";
import type { StartState } from "./use-start.ts";

export function StartProblem({
  failed: { error, isUnknown, sessionId },
  instanceId,
  host,
  onWorktree,
}: {
  failed: Extract<StartState, { is: "failed" }>;
  instanceId: string;
  host: string;
  /** Chooses a worktree instead of the checkout; undefined if it would not help. */
  onWorktree: (() => void) | undefined;
}): ReactNode {
  return (
    <div className="note red" role="alert">
      <div className="grow">
        {isUnknown && <p className="medium">{words("start.unknown", { host })}</p>}
        <p>{sentenceOf(error, host)}</p>
        {error instanceof Refused && error.refusal.incidentId !== undefined && (
          <p className="dim mono">{words("incident", { incidentId: error.refusal.incidentId })}</p>
        )}
      </div>
      {sessionId !== undefined && (
        <Link to="/sessions/$sessionId" params={{ sessionId }} className="btn sm">
          {words("start.open_session")}
        </Link>
      )}
      {isRefused(error, "agent_not_ready") && (
        <Link to="/hosts/$instanceId" params={{ instanceId }} className="btn sm">
          {words("composer.open_host")}
        </Link>
      )}
      {isRefused(error, "project_config_present") && onWorktree && (
        <button type="button" className="btn sm" onClick={onWorktree}>
          {words("start.use_worktree")}
        </button>
      )}
    </div>
  );
}

function sentenceOf(error: unknown, host: string): string {
  if (isRefused(error, "host_offline")) return words("start.host_offline", { host });
  return error instanceof Error ? error.message : String(error);
}
