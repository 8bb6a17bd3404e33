// /sessions/:id: header, strips, transcript, and the dock with requests, waiting prompts and composer.
import type { Session } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import {
  Suspense,
  useCallback,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
  type ReactNode,
} from "react";
import { call } from "../../calls/call.ts";
import { isRefused } from "../../calls/refused.ts";
import { read } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Failure } from "../../design/failure.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { part, useLoadAhead } from "../../design/part.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { clock, money } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { personQuery } from "../access/index.ts";
import { drafts } from "../drafts/index.ts";
import {
  PromptActs,
  PromptAuthor,
  PutBack,
  Transcript,
  useSessionLog,
  type DrawnRow,
  type LogSnapshot,
  type SessionLog,
  type Target,
  type TranscriptHandle,
} from "../session-log/index.ts";
import {
  Composer,
  promptsOf,
  WaitingPrompts,
  type ComposerHandle,
  type Prompts,
} from "../session-turns/index.ts";
import { AskedPrompt } from "./asked-prompt.tsx";
import { actsOf, type OpenDialog } from "./acts.ts";
import { loadDialogs, loadFindBar, sessionParts } from "./ahead.ts";
import { SessionActs } from "./session-acts.tsx";
import { SessionColumns } from "./session-columns.tsx";
import { SessionHeader } from "./session-header.tsx";
import { Spoken } from "./spoken.tsx";
import { Strips } from "./strips.tsx";
import { useAuthors } from "./use-authors.ts";
import { useGit } from "./use-git.ts";
import { usePendingRows } from "./use-pending-rows.ts";
import { useReadMark } from "./use-read-mark.ts";
import { useRequestsOf } from "./use-requests.tsx";
import { useSessionKeys } from "./use-session-keys.ts";
import { isOver, titleOf } from "./words.ts";
import { WorkingLine } from "./working-line.tsx";

const FindBar = part(async () => (await loadFindBar()).FindBar);
const SessionDialogs = part(async () => (await loadDialogs()).SessionDialogs);

interface SessionPageProps {
  sessionId: string;
  isReview: boolean;
  /** An entry that the address leads to. */
  entry: number | undefined;
  onEntry: (entry: undefined) => void;
  /** What is looked for; undefined while nothing is. */
  find: string | undefined;
  onFind: (text: string | undefined) => void;
}

export function SessionPage({ sessionId, ...address }: SessionPageProps): ReactNode {
  const { data: person } = useQuery(personQuery);
  const { log, snapshot } = useSessionLog(sessionId, person?.signInId);
  const summary = useQuery(read("get_session_summary", { sessionId }));
  // The stream's record is newer than the answer of a call that was made before.
  const session: Session | undefined = snapshot.record ?? summary.data;
  const isGone =
    isRefused(summary.error, "not_found") ||
    (snapshot.connection.is === "refused" && snapshot.connection.status === 404);
  if (isGone) {
    return (
      <div className="blank">
        <h1>{words("session.unknown")}</h1>
        <p>{words("page.unknown.where")}</p>
      </div>
    );
  }
  if (!session || snapshot.phase === "loading") {
    return (
      <div className="page">
        {summary.isError || snapshot.phase === "failed" ? (
          <Failure
            error={summary.error ?? snapshot.error}
            what={words("session.failed")}
            onTryAgain={() => {
              void summary.refetch();
              log.stop();
              log.start();
            }}
          />
        ) : (
          <Skeleton lines={8} />
        )}
      </div>
    );
  }
  return <OpenSession session={session} log={log} snapshot={snapshot} {...address} />;
}

interface OpenSessionProps extends Omit<SessionPageProps, "sessionId"> {
  session: Session;
  log: SessionLog;
  snapshot: LogSnapshot;
}

function OpenSession({
  session,
  log,
  snapshot,
  isReview,
  entry,
  onEntry,
  find,
  onFind,
}: OpenSessionProps): ReactNode {
  const { sessionId } = session;
  const { rows, state } = snapshot;
  usePageTitle(titleOf(session));
  useLoadAhead(sessionParts);
  const { data: person } = useQuery(personQuery);
  const authorName = useAuthors(session, person, state.authors);
  const prompts = promptsOf(person?.user.userId ?? "", sessionId, drafts);
  const composer = useRef<ComposerHandle>(null);
  const putBack = useCallback<ComposerHandle["putBack"]>(
    (texts, extras) => composer.current?.putBack(texts, extras),
    [],
  );
  const toComposer = useCallback((text: string) => {
    if (!composer.current?.isEmpty()) return false;
    composer.current.putBack([text]);
    return true;
  }, []);
  const mayEdit = useMay("sessions:edit");
  const pending = usePendingRows(prompts, state, putBack);
  const drawn = useMemo<readonly DrawnRow[]>(() => [...rows, ...pending], [rows, pending]);
  const loadOlder = useCallback(() => void log.loadOlder(), [log]);
  const isRunning = state.turn !== undefined || state.shells > 0;
  const [notice, setNotice] = useState<{ text: string; dropped: string[] }>();
  const waitingTexts = useRef<string[]>([]);
  useEffect(() => {
    waitingTexts.current = state.waiting.map(({ text }) => text);
  });
  const stop = useCallback(() => {
    // Read before the call: the log drops them while it is answered.
    const waiting = waitingTexts.current;
    void call("abort_session", { sessionId }, { idempotencyKey: crypto.randomUUID() }).then(
      ({ droppedPrompts }) =>
        droppedPrompts > 0 &&
        setNotice({ text: words("session.stopped", { n: droppedPrompts }), dropped: waiting }),
      (error: unknown) =>
        setNotice({ text: error instanceof Error ? error.message : String(error), dropped: [] }),
    );
  }, [sessionId]);
  const [dialog, setDialog] = useState<OpenDialog>();
  const hasGit = typeof useGit(session)?.commits === "number";
  const acts = actsOf(session, { mayEdit, hasGit });
  const [canRevert, canFork] = [acts.has("revert"), acts.has("fork")];
  const promptActs = useMemo<PromptActs>(
    () => ({
      onRevert: canRevert ? (prompt) => setDialog({ is: "revert", ...prompt }) : undefined,
      onFork: canFork ? () => setDialog({ is: "fork" }) : undefined,
    }),
    [canRevert, canFork],
  );
  const newestRows = useRef(drawn);
  useEffect(() => {
    newestRows.current = drawn;
  });
  const lastPrompt = useCallback(
    () =>
      newestRows.current
        .flatMap((row) => (row.is === "prompt" || row.is === "pending" ? [row.text] : []))
        .at(-1),
    [],
  );
  const writePrompt = useCallback(() => composer.current?.focus(), []);
  const hasRequest = useRequestsOf(session, snapshot, writePrompt);
  const transcript = useRef<TranscriptHandle>(null);
  const [target, setTarget] = useState<Target>();
  useEntryOfAddress(log, entry, setTarget, onEntry);
  const markRead = useReadMark(sessionId, snapshot);
  const promptId = state.turn?.messageId;
  useSessionKeys({
    sessionId,
    transcript,
    promptId,
    onStop: isRunning ? stop : undefined,
    onFind: () => onFind(""),
  });

  return (
    <>
      <SessionHeader session={session}>
        <SessionActs
          session={session}
          acts={acts}
          onOpen={setDialog}
          onNotice={(text) => setNotice({ text, dropped: [] })}
        />
      </SessionHeader>
      <Strips session={session} snapshot={snapshot} wasRunning={isRunning} />
      <SessionColumns session={session} snapshot={snapshot} isReview={isReview}>
        <AskedPrompt
          rows={rows}
          turn={state.turn}
          onBack={() => transcript.current?.toPrompt(promptId)}
        />
        {find !== undefined && (
          <Suspense>
            <FindBar
              sessionId={sessionId}
              log={log}
              transcript={transcript}
              text={find}
              onText={onFind}
              onTarget={setTarget}
              onClose={() => onFind(undefined)}
            />
          </Suspense>
        )}
        <PromptAuthor value={authorName}>
          <PutBack value={putBack}>
            <PromptActs value={promptActs}>
              {drawn.length === 0 ? (
                <div className="log blank">
                  <p>{words("session.empty")}</p>
                </div>
              ) : (
                <Transcript
                  key={sessionId}
                  sessionId={sessionId}
                  rows={drawn}
                  lastSeq={state.lastSeq}
                  hasOlder={snapshot.hasOlder}
                  onNearTop={loadOlder}
                  target={target}
                  onEndSeen={entry === undefined ? markRead : undefined}
                  ref={transcript}
                />
              )}
            </PromptActs>
          </PutBack>
        </PromptAuthor>
        <div className="dock">
          {notice && (
            <p className="note" role="status">
              <span className="grow">{notice.text}</span>
              {notice.dropped.length > 0 && (
                <button
                  type="button"
                  className="btn sm"
                  onClick={() => {
                    putBack(notice.dropped);
                    setNotice(undefined);
                  }}
                >
                  {words("note.put_back")}
                </button>
              )}
              <button type="button" className="btn sm" onClick={() => setNotice(undefined)}>
                {words("close")}
              </button>
            </p>
          )}
          {isRunning && !hasRequest.isOpen && (
            <WorkingLine turn={state.turn} reachable={session.reachable} />
          )}
          <Suspense>{hasRequest.card}</Suspense>
          <WaitingPrompts
            key={sessionId}
            sessionId={sessionId}
            entries={state.queueEntries}
            turnId={state.turn?.turnId}
            isReachable={session.reachable && !isOver(session)}
            mayEdit={mayEdit}
            userId={person?.user.userId}
            hasRequest={hasRequest.isOpen}
            toComposer={toComposer}
            putBack={putBack}
            send={prompts.send}
          />
          <SessionComposer
            session={session}
            prompts={prompts}
            isRunning={isRunning}
            hasRequest={hasRequest.isOpen}
            cost={costOf(snapshot)}
            context={state.context}
            lastPrompt={lastPrompt}
            onStop={stop}
            composer={composer}
          />
        </div>
      </SessionColumns>
      {dialog && (
        <Suspense>
          <SessionDialogs
            session={session}
            isRunning={isRunning}
            open={dialog}
            onOpen={setDialog}
          />
        </Suspense>
      )}
      <Spoken snapshot={snapshot} hasRequest={hasRequest.isOpen} />
    </>
  );
}

/** Leads to the entry that the address names, once; the address is then that of the session. */
function useEntryOfAddress(
  log: SessionLog,
  entry: number | undefined,
  onTarget: (target: Target) => void,
  onEntry: (entry: undefined) => void,
): void {
  const lead = useEffectEvent(async (seq: number) => {
    await log.loadBackTo(seq);
    const found = log.entryAt(seq);
    if (found) onTarget({ entry: found, text: undefined });
    onEntry(undefined);
  });
  useEffect(() => {
    if (entry !== undefined) void lead(entry);
  }, [entry]);
}

function SessionComposer({
  session,
  composer,
  ...props
}: {
  session: Session;
  prompts: Prompts;
  isRunning: boolean;
  hasRequest: boolean;
  cost: string | undefined;
  context: LogSnapshot["state"]["context"];
  lastPrompt: () => string | undefined;
  onStop: () => void;
  composer: { current: ComposerHandle | null };
}): ReactNode {
  const mayEdit = useMay("sessions:edit");
  if (isOver(session)) {
    const time = session.endedAt === null ? "" : clock(session.endedAt);
    return <p className="note">{words("session.over", { time })}</p>;
  }
  const blocked = !mayEdit
    ? words("session.may_not")
    : session.reachable
      ? undefined
      : words("session.host_offline");
  return <Composer ref={composer} session={session} {...props} blocked={blocked} />;
}

function costOf({ state: { usage } }: LogSnapshot): string | undefined {
  return usage && usage.costUsd !== null ? money(usage.costUsd, usage.costIsEstimate) : undefined;
}
