// A whole entry that was too large for the log, read in steps of 1 MB as long as the dialog is open. Only lines in sight
// are drawn.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useContext, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { call } from "../../calls/call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { size as inWords } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { FoldsOfSession } from "./folds.ts";
import { withoutInstructions } from "./terminal-lines.ts";

const stepBytes = 1_048_576;

export function ShowWhole({ seq, size }: { seq: number; size: number }): ReactNode {
  const { sessionId } = useContext(FoldsOfSession)!;
  const [isOpen, setIsOpen] = useState(false);
  const close = () => setIsOpen(false);
  return (
    <>
      <button type="button" className="btn sm" onClick={() => setIsOpen(true)}>
        {words("call.show_all")}
      </button>
      {isOpen && <WholeEntry sessionId={sessionId} seq={seq} size={size} onClose={close} />}
    </>
  );
}

function WholeEntry({
  sessionId,
  seq,
  size,
  onClose,
}: {
  sessionId: string;
  seq: number;
  size: number;
  onClose: () => void;
}): ReactNode {
  const [loaded, setLoaded] = useState(0);
  const [text, setText] = useState<string>();
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const read = async () => {
      const parts: string[] = [];
      let cursor: string | undefined;
      let characters = 0;
      do {
        const input = { sessionId, seq, maxBytes: stepBytes, ...(cursor && { cursor }) };
        const page = await call("read_session_entry", input, { signal });
        parts.push(page.text);
        characters += page.text.length;
        cursor = page.nextCursor ?? undefined;
        setLoaded(characters);
      } while (cursor !== undefined);
      setText(shownText(parts.join("")));
    };
    read().catch((error: unknown) => {
      if (!signal.aborted) setProblem(error);
    });
    return () => stop.abort();
  }, [sessionId, seq]);
  return (
    <Dialog title={words("whole.title", { size: inWords(size) })} onClose={onClose}>
      {problem !== undefined && <Failure error={problem} />}
      {text === undefined ? (
        <p role="status">
          {words("whole.loading", { loaded: inWords(loaded), size: inWords(size) })}
        </p>
      ) : (
        <Lines text={text} />
      )}
    </Dialog>
  );
}

function Lines({ text }: { text: string }): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => text.split("\n"), [text]);
  // oxlint-disable-next-line react/incompatible-library -- nothing made with it is memoized
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 20,
    overscan: 20,
  });
  return (
    <div
      className="terminal-out whole"
      ref={scroller}
      tabIndex={0}
      role="group"
      aria-label={words("call.output")}
    >
      <div className="terminal-lines" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            className="terminal-line"
            style={{ transform: `translateY(${start}px)` }}
          >
            {withoutInstructions(lines[index]!)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** What the entry says: its texts, or all of it if it has none. */
function shownText(json: string): string {
  try {
    const { content, output, text } = JSON.parse(json) as Record<string, unknown>;
    const texts = [output, text, ...[content].flat().map(textIn)].filter(
      (each) => typeof each === "string" && each !== "",
    );
    return texts.length > 0 ? texts.join("\n") : JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function textIn(part: unknown): unknown {
  const { text, patch, content } = (part ?? {}) as Record<string, unknown>;
  return text ?? patch ?? (content as { text?: unknown } | undefined)?.text;
}
