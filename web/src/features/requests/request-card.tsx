// A request of an agent and its answers: docked above the composer, and in the inbox. It never takes the focus, Enter
// never answers a permission, and it says what became of an answer only when the service has said so.
import "../../design/requests.css";
import type { Request } from "@hawser/client";
import {
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { useRead } from "../../calls/use-call.ts";
import { Mark } from "../../design/mark.tsx";
import { isField, useAct } from "../../keyboard/index.ts";
import { span } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { useNow } from "../../design/ago.tsx";
import { armingMs } from "./arming.ts";
import {
  cardState,
  titleOf,
  type Answer,
  type CardState,
  type PermissionAnswer,
  type Where,
} from "./card-state.ts";
import { PermissionBody, PermissionButtons } from "./permission-body.tsx";
import { QuestionBody } from "./question-body.tsx";
import type { Card } from "./use-cards.ts";
import { Visible } from "./visible.tsx";

interface RequestCardProps {
  card: Card;
  where: Where;
  /** Its place among the cards that wait. */
  place?: { n: number; all: number };
  onAnswer: (requestId: string, answer: Answer) => void;
  onPutAway: (requestId: string) => void;
  /** Leads to where a person writes the next prompt; undefined if the page has no such place. */
  onNote?: () => void;
}

const leavesAfterMs = 1_500;

export function RequestCard({
  card,
  where,
  place,
  onAnswer,
  onPutAway,
  onNote,
}: RequestCardProps): ReactNode {
  const { request, press } = card;
  const { requestId } = request;
  const state = cardState(request, press);
  const [shownAt] = useState(() => performance.now());
  const ref = useRef<HTMLElement>(null);
  const isFieldFocused = useFieldFocus();
  const { data: person } = useRead("whoami", {});
  // Until the permissions are known, the service decides.
  const mayAnswer = person?.permissions.includes("sessions:edit") ?? true;
  const rest = !mayAnswer
    ? words("request.may_not")
    : where.isReachable === false
      ? words("request.offline")
      : undefined;
  const isOpen = state.is === "open" && rest === undefined;

  /** Returns whether the answer was sent: a card that has just appeared, or that rests, takes none. */
  const answer = (given: Answer): boolean => {
    if (!isOpen || performance.now() - shownAt < armingMs) return false;
    onAnswer(requestId, given);
    return true;
  };
  // The note is the next prompt: agents take no words with a refusal.
  const rejectWithNote = onNote && (() => answer({ permission: "reject" }) && onNote());
  useAnswerKeys(ref, request, isOpen, (given) => answer({ permission: given }), rejectWithNote);
  const leaves = state.is === "ended" && state.end.leaves;
  useEffect(() => {
    if (!leaves) return undefined;
    const timer = setTimeout(() => {
      // The focus goes on only if it was here.
      const had = ref.current?.contains(document.activeElement) ?? false;
      onPutAway(requestId);
      if (had) requestAnimationFrame(focusNext);
    }, leavesAfterMs);
    return () => clearTimeout(timer);
  }, [leaves, requestId, onPutAway]);

  const isQuestion = request.type === "question";
  return (
    <section
      ref={ref}
      className={state.is === "ended" ? "ask-card settled" : "ask-card"}
      aria-label={words(isQuestion ? "request.card.question" : "request.card.permission")}
      data-request={requestId}
      onKeyDown={isQuestion ? undefined : keepEnter}
    >
      <header>
        <Mark state={state.is === "ended" ? "end" : "ask"} />
        <h2>
          <Visible text={titleOf(request, where.agent)} />
        </h2>
        <span className="dim push">
          {place && place.all > 1 && <>{words("request.of", place)} · </>}
          <Waiting at={request.raisedAt} />
        </span>
      </header>
      {isQuestion ? (
        <QuestionBody
          request={request}
          isOpen={isOpen}
          shownAt={shownAt}
          isInSight={() => isInSight(ref)}
          onAnswer={answer}
          renderFooter={(buttons) => (
            <Footer
              state={state}
              where={where}
              rest={rest}
              buttons={buttons}
              onPutAway={() => onPutAway(requestId)}
              onAgain={undefined}
            />
          )}
        />
      ) : (
        <>
          <PermissionBody request={request} where={where} />
          <Footer
            state={state}
            where={where}
            rest={rest}
            onPutAway={() => onPutAway(requestId)}
            onAgain={
              press && "answer" in press ? () => onAnswer(requestId, press.answer) : undefined
            }
            buttons={
              <PermissionButtons
                request={request}
                isOpen={isOpen}
                isTyping={isFieldFocused}
                sending={
                  state.is === "sending" && "permission" in state.answer
                    ? state.answer.permission
                    : undefined
                }
                onAnswer={(given) => answer({ permission: given })}
                onReject={rejectWithNote}
              />
            }
          />
        </>
      )}
    </section>
  );
}

/** A button that has the focus is pressed by Enter, which may have been meant for the composer. */
function keepEnter(event: KeyboardEvent): void {
  if (event.key === "Enter" && (event.target as Element).matches(".answer")) event.preventDefault();
}

function focusNext(): void {
  const next = document.querySelector<HTMLElement>(".ask-card .answer, .composer textarea");
  next?.focus({ preventScroll: true });
}

function Footer({
  state,
  where,
  rest,
  buttons,
  onPutAway,
  onAgain,
}: {
  state: CardState;
  where: Where;
  /** Why nothing can be answered now. */
  rest: string | undefined;
  buttons: ReactNode;
  onPutAway: () => void;
  onAgain: (() => void) | undefined;
}): ReactNode {
  if (state.is === "ended") {
    return (
      <footer>
        <p role="status">{state.end.text}</p>
        <span className="push" />
        {state.end.canSendAgain && onAgain && (
          <button type="button" className="btn" onClick={onAgain}>
            {words("request.send_again")}
          </button>
        )}
        {!state.end.leaves && (
          <button type="button" className="btn" onClick={onPutAway}>
            {words("request.close")}
          </button>
        )}
      </footer>
    );
  }
  const sendingTo =
    where.host === undefined
      ? words("request.sending")
      : words("request.sending.to", { host: where.host });
  return (
    <>
      {state.is === "sending" && (
        <p className="by" role="status">
          {state.isSlow ? words("request.sending.still") : sendingTo}
        </p>
      )}
      {state.is === "open" && state.problem !== undefined && (
        <p className="by" role="alert">
          {state.problem}
        </p>
      )}
      {rest !== undefined && <p className="by">{rest}</p>}
      <footer className="answers">{buttons}</footer>
    </>
  );
}

function Waiting({ at }: { at: string }): ReactNode {
  const now = useNow(10_000);
  return (
    <time dateTime={at}>{words("request.waiting", { time: span(now - Date.parse(at)) })}</time>
  );
}

/** In the review the conversation is out of sight, and keys mean other things there. */
const isInSight = (card: RefObject<HTMLElement | null>): boolean =>
  card.current?.checkVisibility({ visibilityProperty: true }) === true;

/** Letters answer the card that is in front; one that has just appeared leaves them to nobody. */
function useAnswerKeys(
  card: RefObject<HTMLElement | null>,
  request: Request,
  isOpen: boolean,
  onAnswer: (answer: PermissionAnswer) => void,
  onReject: (() => void) | undefined,
): void {
  const isPermission = isOpen && request.type === "permission";
  const hasAlways = (request.permission?.alwaysRules.length ?? 0) > 0;
  const inSight = (given: PermissionAnswer) => () => isInSight(card) && onAnswer(given);
  useAct("allow_once", inSight("once"), isPermission);
  useAct("allow_always", inSight("always"), isPermission && hasAlways);
  useAct("reject", inSight("reject"), isPermission);
  useAct("reject_with_note", () => isInSight(card) && onReject?.(), isPermission && !!onReject);
}

/** Whether a person types now, so that letters are no answers. */
function useFieldFocus(): boolean {
  const [isFocused, setIsFocused] = useState(() => isField(document.activeElement));
  useEffect(() => {
    const check = () => setIsFocused(isField(document.activeElement));
    // While the focus moves, nothing has it for a moment.
    const later = () => queueMicrotask(check);
    document.addEventListener("focusin", check);
    document.addEventListener("focusout", later);
    return () => {
      document.removeEventListener("focusin", check);
      document.removeEventListener("focusout", later);
    };
  }, []);
  return isFocused;
}
