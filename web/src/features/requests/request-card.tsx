// A request of an agent and its answers: docked above the composer, and in the inbox. It never takes the focus, Enter
// never answers a permission, and it says what became of an answer only when the service has said so.
import type { Request } from "@hawser/client";
import {
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { Mark } from "../../design/mark.tsx";
import { isField, useAct, useHasSingleKeys } from "../../keyboard/index.ts";
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
} from "./card-state.ts";
import { QuestionBody } from "./question-body.tsx";
import type { Card } from "./use-cards.ts";
import { Visible } from "./visible.tsx";

/** Where the agent works, as far as the page knows it. */
export interface Where {
  agent: string;
  host: string | undefined;
  directory: string | undefined;
  /** Undefined if it is not known. */
  isReachable: boolean | undefined;
}

interface RequestCardProps {
  card: Card;
  where: Where;
  /** Its place among the cards that wait. */
  place?: { n: number; all: number };
  onAnswer: (requestId: string, answer: Answer) => void;
  onPutAway: (requestId: string) => void;
}

const leavesAfterMs = 1_500;

export function RequestCard({
  card,
  where,
  place,
  onAnswer,
  onPutAway,
}: RequestCardProps): ReactNode {
  const { request, press } = card;
  const { requestId } = request;
  const state = cardState(request, press);
  const [shownAt] = useState(() => performance.now());
  const ref = useRef<HTMLElement>(null);
  const isFieldFocused = useFieldFocus();
  const isOpen = state.is === "open";

  const answer = (given: Answer) => {
    if (!isOpen || performance.now() - shownAt < armingMs) return;
    onAnswer(requestId, given);
  };
  useAnswerKeys(ref, request, isOpen, (given) => answer({ permission: given }));
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
          onAnswer={answer}
          renderFooter={(buttons) => (
            <Footer
              state={state}
              where={where}
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

function PermissionBody({ request, where }: { request: Request; where: Where }): ReactNode {
  const { title, detail, alwaysRules } = request.permission!;
  return (
    <div className="body" tabIndex={0} role="group" aria-label={words("request.card.permission")}>
      {detail !== null && (
        <pre className={title === "Carry out the plan" ? "cmd text" : "cmd"}>
          <Visible text={detail} />
        </pre>
      )}
      <dl className="facts">
        {where.directory !== undefined && (
          <>
            <dt>{words("request.runs_in")}</dt>
            <dd>
              <span className="mono">
                <Visible text={where.directory} />
              </span>{" "}
              {where.host !== undefined && (
                <span className="dim">{words("request.on", { host: where.host })}</span>
              )}
            </dd>
          </>
        )}
        {request.rule !== null && (
          <>
            <dt>{words("request.why")}</dt>
            <dd>{request.rule}</dd>
          </>
        )}
        {alwaysRules.length > 0 && (
          <>
            <dt>{words("request.stores")}</dt>
            <dd>
              {alwaysRules.map((rule) => (
                <span key={rule} className="rule">
                  <Visible text={rule} />
                </span>
              ))}
              <span className="why">{words("request.stores.what")}</span>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

function PermissionButtons({
  request,
  isOpen,
  isTyping,
  sending,
  onAnswer,
}: {
  request: Request;
  isOpen: boolean;
  isTyping: boolean;
  sending: PermissionAnswer | undefined;
  onAnswer: (answer: PermissionAnswer) => void;
}): ReactNode {
  const hasKeys = useHasSingleKeys();
  const button = (answer: PermissionAnswer, letter: string, name: string) => (
    <button
      type="button"
      className={`btn answer ${name}`}
      aria-disabled={!isOpen}
      onClick={() => onAnswer(answer)}
    >
      {words(sending === answer ? "request.sending" : `request.${answer}`)}{" "}
      <kbd aria-hidden>{isTyping || !hasKeys ? "" : letter}</kbd>
    </button>
  );
  return (
    <>
      {request.permission!.alwaysRules.length > 0 && button("always", "A", "always")}
      <span className="push">
        {isTyping && hasKeys && <span className="dim no-phone">{words("request.esc_first")}</span>}
      </span>
      {button("reject", "N", "")}
      {button("once", "Y", "primary")}
    </>
  );
}

function Footer({
  state,
  where,
  buttons,
  onPutAway,
  onAgain,
}: {
  state: CardState;
  where: Where;
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
      {where.isReachable === false && <p className="by">{words("request.offline")}</p>}
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

/** Letters answer the card that is in front; one that has just appeared leaves them to nobody. */
function useAnswerKeys(
  card: RefObject<HTMLElement | null>,
  request: Request,
  isOpen: boolean,
  onAnswer: (answer: PermissionAnswer) => void,
): void {
  const isPermission = isOpen && request.type === "permission";
  const hasAlways = (request.permission?.alwaysRules.length ?? 0) > 0;
  // In the review the conversation is out of sight, and N means another thing there.
  const inSight = (given: PermissionAnswer) => () =>
    card.current?.checkVisibility({ visibilityProperty: true }) === true ? onAnswer(given) : false;
  useAct("allow_once", inSight("once"), isPermission);
  useAct("allow_always", inSight("always"), isPermission && hasAlways);
  useAct("reject", inSight("reject"), isPermission);
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
