// The request cards of the page: the open requests, and those that were settled while a person looked at them. A card
// that has been shown stays until its end has been read.
import type { Request } from "@hawser/client";
import { useCallback, useRef, useState } from "react";
import { call } from "../../calls/call.ts";
import { useRead } from "../../calls/use-call.ts";
import type { Answer, Press } from "./card-state.ts";

export interface Card {
  request: Request;
  press: Press | undefined;
}

export interface Cards {
  /** The oldest first. */
  cards: Card[];
  /** Why the requests could not be read. */
  error: Error | null;
  isLoading: boolean;
  answer: (requestId: string, answer: Answer) => void;
  /** Removes a card that has ended. */
  putAway: (requestId: string) => void;
}

/** An answer that takes longer is "still sending". */
const slowMs = 10_000;

/** The cards of one session, or of all. The component must be another one for another session. */
export function useCards(sessionId?: string): Cards {
  const scope = sessionId === undefined ? {} : { sessionId };
  const pending = useRead("search_requests", { ...scope, scope: "pending", limit: 200 });
  const resolved = useRead("search_requests", { ...scope, scope: "resolved", limit: 50 });
  const [presses, setPresses] = useState<ReadonlyMap<string, Press>>(new Map());
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  /** Every request that was open while this page was shown. */
  const [shown, setShown] = useState<ReadonlyMap<string, Request>>(new Map());
  const [openedAt] = useState(() => Date.now());
  const keys = useRef(new Map<string, { key: string; answer: string }>());

  const setPress = useCallback((requestId: string, press: Press | undefined) => {
    setPresses((before) => {
      const after = new Map(before);
      if (press) after.set(requestId, press);
      else after.delete(requestId);
      return after;
    });
  }, []);

  const answer = useCallback(
    (requestId: string, given: Answer) => {
      // The same answer that is sent again after no answer arrived is the same call.
      const text = JSON.stringify(given);
      const known = keys.current.get(requestId);
      const key = known?.answer === text ? known.key : crypto.randomUUID();
      keys.current.set(requestId, { key, answer: text });
      setPress(requestId, { is: "sending", answer: given, isSlow: false });
      const slow = setTimeout(
        () => setPress(requestId, { is: "sending", answer: given, isSlow: true }),
        slowMs,
      );
      const deliver = async () => {
        try {
          const { status, record } = await send(requestId, given, key);
          // An undeliverable answer is sent again as another call.
          keys.current.delete(requestId);
          setPress(requestId, { is: "ended", answer: given, status, record });
        } catch (error) {
          setPress(requestId, { is: "failed", answer: given, error });
        } finally {
          clearTimeout(slow);
        }
      };
      void deliver();
    },
    [setPress],
  );
  const putAway = useCallback((requestId: string) => {
    setGone((before) => new Set([...before, requestId]));
  }, []);

  const open = (pending.data?.requests ?? []).filter(({ answerable }) => answerable);
  const unseen = open.filter((request) => shown.get(request.requestId) !== request);
  if (unseen.length > 0) {
    setShown(new Map([...shown, ...unseen.map((each) => [each.requestId, each] as const)]));
  }
  const isOpen = new Set(open.map(({ requestId }) => requestId));
  const settled = new Map(resolved.data?.requests.map((each) => [each.requestId, each]));
  /** An earlier page has left the request as open, and it was settled before this page was opened. */
  const wasOver = (requestId: string) => {
    const end = settled.get(requestId)?.resolvedAt ?? null;
    return end !== null && !presses.has(requestId) && Date.parse(end) <= openedAt;
  };
  const cards = [...shown.values()]
    .filter(
      ({ requestId }) => !gone.has(requestId) && (isOpen.has(requestId) || !wasOver(requestId)),
    )
    .map((request): Card => {
      const { requestId } = request;
      const newest = isOpen.has(requestId) ? request : (settled.get(requestId) ?? request);
      return { request: newest, press: presses.get(requestId) };
    })
    .sort((a, b) => (a.request.raisedAt < b.request.raisedAt ? -1 : 1));

  return { cards, error: pending.error, isLoading: pending.isPending, answer, putAway };
}

/** Sends an answer; if it was too late, also reads who was first. */
async function send(
  requestId: string,
  answer: Answer,
  idempotencyKey: string,
): Promise<{ status: string; record: Request | undefined }> {
  const { status } =
    "permission" in answer
      ? await call(
          "answer_permission",
          { requestId, answer: answer.permission },
          { idempotencyKey },
        )
      : await call(
          "answer_question",
          { requestId, ...("labels" in answer ? { answers: answer.labels } : { reject: true }) },
          { idempotencyKey },
        );
  if (status !== "already_resolved") return { status, record: undefined };
  const { requests } = await call("search_requests", { scope: "resolved", limit: 200 });
  return { status, record: requests.find((each) => each.requestId === requestId) };
}
