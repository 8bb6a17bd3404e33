// The requests of the session that is shown.
import type { Session } from "@hawser/client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { useHost } from "../../calls/use-host.ts";
import { kindName } from "../../words/kinds.ts";
import { RequestCard, useCards } from "../requests/index.ts";
import type { LogSnapshot } from "../session-log/index.ts";

/** The card of the oldest request, and whether one is open. `onNote` leads to the composer. */
export function useRequestsOf(
  session: Session,
  { state }: LogSnapshot,
  onNote: () => void,
): { isOpen: boolean; card: ReactNode } {
  const { sessionId } = session;
  const { cards, answer, putAway } = useCards(sessionId);
  const queries = useQueryClient();
  const host = useHost(session.instanceId);
  const { openRequests } = state;
  const seenRequests = useRef(openRequests);
  useEffect(() => {
    if (seenRequests.current === openRequests) return;
    seenRequests.current = openRequests;
    // The log knows of a request before the organization's events do.
    void queries.invalidateQueries({ queryKey: ["search_requests"] });
  }, [queries, openRequests]);
  const [front] = cards;
  const isOpen = cards.some(({ request }) => request.status === "pending");
  if (!front) return { isOpen, card: null };
  return {
    isOpen,
    card: (
      <RequestCard
        key={front.request.requestId}
        card={front}
        place={{ n: 1, all: cards.length }}
        where={{
          agent: kindName(session.agentKind),
          host: host?.name,
          directory: session.directory ?? undefined,
          isWorktree: session.worktreeBranch !== null,
          isReachable: session.reachable,
        }}
        onAnswer={answer}
        onPutAway={putAway}
        onNote={onNote}
      />
    ),
  };
}
