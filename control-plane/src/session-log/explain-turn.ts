// Why a turn did not complete, for a caller who waits for it. If another session continues a turn whose quota was used
// up, the caller must not follow the agent's advice to prompt again: the work would be done twice.
import { formatId } from "@hawser/contract";
import type { SessionRow } from "../sessions/store.ts";

interface TurnEnd {
  /** As the host reports it. */
  reason: string | null;
  cause: string | null;
}

/** `isContinuing`: whether the turn is to continue in another session, which is not known yet. */
export function explainTurn(
  { turn_id, continuation }: Pick<SessionRow, "turn_id" | "continuation">,
  { reason, cause }: TurnEnd,
  isContinuing: boolean,
): string | null {
  const then = reason === null ? "" : ` The turn failed here for this reason: ${reason}`;
  if (isContinuing) {
    return `Another agent kind is to continue this turn in another session. Do not prompt again; call wait_for_session again, which will name that session.${then}`;
  }
  if (!continuation || cause !== "quota") return reason;
  const { turnId, forkId, problem } = continuation;
  if (problem !== null) {
    return turnId === turn_id ? `${reason ?? ""} It is not continued: ${problem}`.trim() : reason;
  }
  const fork = formatId("session", forkId!);
  return turnId === turn_id
    ? `The session ${fork} continues this turn with another agent kind. Do not prompt again here; call wait_for_session with that session.${then}`
    : `The session ${fork} has continued an earlier turn of this session, and a session is continued once. Prompt that session instead.${then}`;
}
