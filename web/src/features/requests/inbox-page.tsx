// /inbox: every request that waits for a person, the oldest first, with the same card as in the session.
import "../../design/requests.css";
import type { Request, SessionListEntry } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import type { ReactNode } from "react";
import { read, useRead } from "../../calls/use-call.ts";
import { useHost } from "../../calls/use-host.ts";
import { Age } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Mark } from "../../design/mark.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { useAct } from "../../keyboard/index.ts";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import { cardState } from "./card-state.ts";
import { RequestCard } from "./request-card.tsx";
import { saidBefore } from "./said-before.ts";
import { useCards, type Card } from "./use-cards.ts";
import { Visible } from "./visible.tsx";

/** A request stands near the end of its session's log, because the agent waits for it. */
const newestEntries = 40;

interface InboxPageProps {
  /** The request that is open; undefined for none. */
  requestId: string | undefined;
  /** Sessions whose turn has ended unseen, below the requests. */
  finished: ReactNode;
}

export function InboxPage({ requestId, finished }: InboxPageProps): ReactNode {
  const { cards, error, isLoading, answer, putAway } = useCards();
  const navigate = useNavigate();
  usePageTitle(words("nav.inbox"));
  const sessions = useRead("search_sessions", { limit: 200 });
  const sessionOf = (request: Request) =>
    sessions.data?.sessions.find(({ sessionId }) => sessionId === request.sessionId);
  const running = (sessions.data?.sessions ?? []).filter(
    ({ activity }) => activity === "running" || activity === "starting",
  ).length;
  const isWaiting = ({ request, press }: Card) => cardState(request, press).is !== "ended";
  const waiting = cards.filter(isWaiting);
  const settled = cards.filter((card) => !isWaiting(card));
  const chosen =
    cards.find(({ request }) => request.requestId === requestId) ??
    (requestId === undefined ? waiting[0] : undefined);
  const choose = (id: string | undefined) =>
    void navigate(
      id === undefined ? { to: "/inbox" } : { to: "/inbox/$requestId", params: { requestId: id } },
    );
  useNextKeys(waiting, chosen, choose);

  return (
    <>
      <header className="bar">
        <h1>{words("nav.inbox")}</h1>
        <p className="meta">{waiting.length > 0 && words("inbox.wait", { n: waiting.length })}</p>
      </header>
      {isLoading && (
        <div className="page">
          <Skeleton lines={6} />
        </div>
      )}
      {error && (
        <div className="page">
          <Failure error={error} what={words("inbox.failed")} />
        </div>
      )}
      {!isLoading && cards.length === 0 && !error && (
        <>
          <p className="blank">
            {words("inbox.none")} {running > 0 && words("inbox.running", { n: running })}
          </p>
          <div className="queue alone">{finished}</div>
        </>
      )}
      {cards.length > 0 && (
        <div className={requestId === undefined ? "inbox" : "inbox chosen"}>
          <div className="queue" tabIndex={0} role="region" aria-label={words("nav.inbox")}>
            {waiting.length > 0 && <h2>{words("inbox.oldest")}</h2>}
            {waiting.map((card) => (
              <Line
                key={card.request.requestId}
                card={card}
                session={sessionOf(card.request)}
                isCurrent={card === chosen}
              />
            ))}
            {settled.length > 0 && <h2>{words("inbox.settled")}</h2>}
            {settled.map((card) => (
              <Line
                key={card.request.requestId}
                card={card}
                session={sessionOf(card.request)}
                isCurrent={card === chosen}
              />
            ))}
            {finished}
          </div>
          {chosen && (
            <Focus
              key={chosen.request.requestId}
              card={chosen}
              place={{ n: waiting.indexOf(chosen) + 1, all: waiting.length }}
              onAnswer={answer}
              onPutAway={(id) => {
                putAway(id);
                choose(undefined);
              }}
            />
          )}
          {!chosen && requestId !== undefined && (
            <div className="focus">
              <p className="blank">{words("inbox.unknown")}</p>
            </div>
          )}
        </div>
      )}
    </>
  );
}

function Line({
  card,
  session,
  isCurrent,
}: {
  card: Card;
  session: SessionListEntry | undefined;
  isCurrent: boolean;
}): ReactNode {
  const { request, press } = card;
  const state = cardState(request, press);
  const { permission, questions } = request;
  const what = permission?.title ?? questions?.[0]?.question ?? "";
  const more = permission ? permission.detail?.split("\n", 1)[0] : undefined;
  return (
    <Link
      to="/inbox/$requestId"
      params={{ requestId: request.requestId }}
      className={state.is === "ended" ? "q-item quiet" : "q-item"}
      aria-current={isCurrent}
    >
      <Mark state={state.is === "ended" ? "end" : "ask"} />
      <span className="what cut">
        <Visible text={what} />
      </span>
      <span className="w">
        <Age at={request.raisedAt} />
      </span>
      {state.is === "ended" ? (
        <span className="from">{state.end.text}</span>
      ) : (
        more !== undefined && (
          <span className="code cut">
            <Visible text={more} />
          </span>
        )
      )}
      {session && (
        <span className="from cut">
          <Plain text={session.title ?? session.directory ?? session.sessionId} /> ·{" "}
          {session.agentKind}
        </span>
      )}
    </Link>
  );
}

function SaidBefore({ sessionId, requestId }: Request): ReactNode {
  // The log may have grown since another request of the session was shown.
  const { data } = useQuery({
    ...read("list_session_events", { sessionId, tail: true, limit: newestEntries }),
    staleTime: 0,
  });
  const text = data && saidBefore(data.events, requestId);
  return text === undefined ? null : (
    <blockquote className="said-before">
      <Plain text={text} />
    </blockquote>
  );
}

function Focus({
  card,
  place,
  onAnswer,
  onPutAway,
}: {
  card: Card;
  place: { n: number; all: number };
  onAnswer: ReturnType<typeof useCards>["answer"];
  onPutAway: (requestId: string) => void;
}): ReactNode {
  const { sessionId, instanceId } = card.request;
  const { data: session } = useQuery(read("get_session_summary", { sessionId }));
  const host = useHost(instanceId);
  const title = session?.title ?? session?.directory ?? words("session.untitled");
  return (
    <div className="focus">
      <header>
        <Link to="/inbox" className="back only-phone" aria-label={words("inbox.back")}>
          <ChevronLeft className="icon" aria-hidden />
        </Link>
        <div className="grow">
          <h2 className="cut">
            <Plain text={title} />
          </h2>
          <p className="dim cut">
            {host && <Plain text={host.name} />}
            {session && ` / ${session.agentKind}`}
          </p>
        </div>
        <Link to="/sessions/$sessionId" params={{ sessionId }} className="btn push">
          {words("inbox.open")}
        </Link>
      </header>
      <SaidBefore {...card.request} />
      <RequestCard
        card={card}
        place={place}
        where={{
          agent: session ? kindName(session.agentKind) : words("request.agent"),
          host: host?.name,
          directory: session?.directory ?? undefined,
          isWorktree: (session?.worktreeBranch ?? null) !== null,
          isReachable: session?.reachable,
        }}
        onAnswer={onAnswer}
        onPutAway={onPutAway}
      />
      <p className="keys">
        <span>
          <kbd className="key">J</kbd> <kbd className="key">K</kbd> {words("inbox.keys.next")}
        </span>
        <span>
          <kbd className="key">Y</kbd> {words("inbox.keys.once")}
        </span>
        <span>
          <kbd className="key">A</kbd> {words("inbox.keys.always")}
        </span>
        <span>
          <kbd className="key">N</kbd> {words("inbox.keys.reject")}
        </span>
        <span>
          <kbd className="key">1</kbd> – <kbd className="key">9</kbd> {words("inbox.keys.choose")}
        </span>
      </p>
    </div>
  );
}

/** J and K lead through the requests that wait. */
function useNextKeys(
  waiting: readonly Card[],
  chosen: Card | undefined,
  choose: (requestId: string) => void,
): void {
  const go = (step: number) => {
    const next = waiting[(chosen ? waiting.indexOf(chosen) : -1) + step];
    if (next) choose(next.request.requestId);
  };
  useAct("next", () => go(1));
  useAct("former", () => go(-1));
}
