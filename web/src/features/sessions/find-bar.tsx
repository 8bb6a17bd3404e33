// Finding a text in a session. The browser's own search sees only the rows that are drawn; this one looks through the
// whole log. The text stands in the address.
import { ChevronDown, ChevronUp, X } from "lucide-react";
import {
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { words } from "../../words/words.ts";
import {
  loadMarks,
  type Marks,
  type SessionLog,
  type Target,
  type TranscriptHandle,
} from "../session-log/index.ts";
import { useMatches } from "./use-matches.ts";

interface FindBarProps {
  sessionId: string;
  log: SessionLog;
  transcript: RefObject<TranscriptHandle | null>;
  text: string;
  onText: (text: string) => void;
  onTarget: (target: Target) => void;
  onClose: () => void;
}

const pauseMs = 250;

export function FindBar({
  sessionId,
  log,
  transcript,
  text,
  onText,
  onTarget,
  onClose,
}: FindBarProps): ReactNode {
  const [typed, setTyped] = useState(text);
  const { seqs, isComplete, error } = useMatches(sessionId, text);
  /** The match that the person has gone to, by its entry. */
  const [visited, setVisited] = useState<{ text: string; seq: number }>();
  const current = visited?.text === text ? visited.seq : undefined;
  const input = useRef<HTMLInputElement>(null);
  // Whoever opens it wants to type.
  useEffect(() => input.current?.focus(), []);
  const marks = useMarks(transcript, text);
  const visit = useVisit(transcript);

  const go = async (seq: number) => {
    setVisited({ text, seq });
    await log.loadBackTo(seq);
    const entry = log.entryAt(seq);
    if (!entry) return;
    visit.leave();
    onTarget({
      entry,
      text,
      onShown(shown) {
        visit.enter(shown.opened);
        marks.current?.update(text, shown);
      },
    });
  };
  // The first match from the place on at which the person reads, or else the newest.
  const begin = useEffectEvent(() => {
    const from = visit.from.seq;
    const first = seqs.find((seq) => seq >= from) ?? (isComplete ? seqs.at(-1) : undefined);
    if (first !== undefined) void go(first);
  });
  useEffect(() => {
    // oxlint-disable-next-line react/set-state-in-effect -- going to a match scrolls the transcript, too
    if (current === undefined) begin();
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- whenever more of the log was looked at
  }, [current, seqs.length, isComplete]);
  const step = (by: number) => {
    const at = current === undefined ? -1 : seqs.indexOf(current);
    const next = seqs.at((at + by + seqs.length) % seqs.length);
    if (next !== undefined) void go(next);
  };
  const typedNow = useEffectEvent(() => {
    if (typed !== text) onText(typed);
  });
  useEffect(() => {
    const timer = setTimeout(typedNow, pauseMs);
    return () => clearTimeout(timer);
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- each key begins the pause again
  }, [typed]);
  const close = () => {
    visit.leave();
    onClose();
    transcript.current?.goTo(visit.from.place);
    transcript.current?.element()?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (typed === text) step(event.shiftKey ? -1 : 1);
      else onText(typed);
    }
  };
  return (
    <search className="find-bar">
      <input
        ref={input}
        className="input"
        value={typed}
        maxLength={200}
        aria-label={words("find.title")}
        placeholder={words("find.title")}
        onKeyDown={onKeyDown}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTyped(event.target.value)}
      />
      <span className="dim" role="status">
        {error ? error.message : placeOf(text, seqs, current, isComplete)}
      </span>
      <button
        type="button"
        className="btn bare sq"
        aria-label={words("find.former")}
        aria-disabled={seqs.length === 0}
        onClick={() => step(-1)}
      >
        <ChevronUp className="icon" aria-hidden />
      </button>
      <button
        type="button"
        className="btn bare sq"
        aria-label={words("find.next")}
        aria-disabled={seqs.length === 0}
        onClick={() => step(1)}
      >
        <ChevronDown className="icon" aria-hidden />
      </button>
      <button type="button" className="btn bare sq" aria-label={words("close")} onClick={close}>
        <X className="icon" aria-hidden />
      </button>
    </search>
  );
}

function placeOf(
  text: string,
  seqs: readonly number[],
  current: number | undefined,
  isComplete: boolean,
): string {
  if (text === "") return "";
  if (seqs.length === 0) return words(isComplete ? "find.none" : "find.searching");
  const place = { n: current === undefined ? 0 : seqs.indexOf(current) + 1, all: seqs.length };
  return words(isComplete ? "find.place" : "find.place.more", place);
}

/** Marks the text as long as the bar is open. */
function useMarks(
  transcript: RefObject<TranscriptHandle | null>,
  text: string,
): RefObject<Marks | undefined> {
  const marks = useRef<Marks>(undefined);
  const show = useEffectEvent(() => marks.current?.update(text, undefined));
  useEffect(() => {
    let isOver = false;
    const begin = async () => {
      const markMatches = await loadMarks();
      const element = transcript.current?.element();
      if (isOver || !element) return;
      marks.current = markMatches(element);
      show();
    };
    void begin();
    return () => {
      isOver = true;
      marks.current?.stop();
      marks.current = undefined;
    };
  }, [transcript]);
  // oxlint-disable-next-line react/exhaustive-effect-dependencies -- what is marked is read by the event
  useEffect(() => show(), [text]);
  return marks;
}

/** Where the person was before, and what was opened on the way; it is closed again when they go on. */
function useVisit(transcript: RefObject<TranscriptHandle | null>) {
  const [from] = useState(() => ({
    place: transcript.current?.place(),
    seq: transcript.current?.firstSeq() ?? 0,
  }));
  const opened = useRef<readonly string[]>([]);
  return {
    from,
    enter(keys: readonly string[]) {
      opened.current = keys;
    },
    leave() {
      transcript.current?.closeFolds(opened.current);
      opened.current = [];
    },
  };
}
