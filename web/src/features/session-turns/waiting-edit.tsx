// Editing a waiting prompt. The host holds the prompt as long as the field is open; a text that somebody has changed
// meanwhile is not overwritten, and both are shown.
import { useEffect, useState, type KeyboardEvent, type ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { words } from "../../words/words.ts";
import type { WaitingRow } from "../session-log/index.ts";
import type { UsedQueue } from "./use-queue.ts";

const holdAgainMs = 20_000;

export interface Edited {
  messageId: string;
  text: string;
  /** The queue from which the text was read. */
  version: number;
}

interface WaitingEditProps {
  edited: Edited;
  /** undefined if the prompt does not wait any more. */
  row: WaitingRow | undefined;
  queue: UsedQueue;
  onDone: () => void;
  onPutBack: (text: string) => void;
}

/** Once it is there: the person has asked for it. */
const focus = (field: HTMLElement | null) => field?.focus();

export function WaitingEdit({
  edited,
  row,
  queue,
  onDone,
  onPutBack,
}: WaitingEditProps): ReactNode {
  const { messageId } = edited;
  const [text, setText] = useState(edited.text);
  const [version, setVersion] = useState(edited.version);
  const [isSaving, setIsSaving] = useState(false);
  const [problem, setProblem] = useState<string>();
  const waits = row !== undefined;
  // Once it is saved over the other text, the log has it before the call is answered.
  const isChanged = row !== undefined && problem === "changed" && row.text !== text;
  const { hold } = queue;
  useEffect(() => {
    if (!waits) return undefined;
    const renew = () =>
      void hold(messageId, true).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        setProblem(words("waiting.hold_failed", { reason }));
      });
    renew();
    const timer = setInterval(renew, holdAgainMs);
    return () => {
      clearInterval(timer);
      // If it has begun or was removed, there is nothing to end.
      void hold(messageId, false).catch(() => {});
    };
  }, [waits, hold, messageId]);

  const save = async (over: number) => {
    if (text.trim() === "" || isSaving) return;
    setIsSaving(true);
    try {
      await queue.change("update_queued_prompt", { messageId, text, version: over });
      onDone();
    } catch (error) {
      const isConflict = isRefused(error, "prompt_changed");
      if (isConflict) await queue.readAgain();
      setProblem(isConflict ? "changed" : error instanceof Error ? error.message : String(error));
      setIsSaving(false);
    }
  };
  const cancel = () => {
    queue.clearProblem();
    onDone();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") cancel();
    else if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void save(version);
  };
  return (
    <div className="waiting-edit">
      {waits && !isChanged && <span className="who">{words("waiting.held.own")}</span>}
      {isChanged && (
        <div role="alert">
          <p className="problem">{words("waiting.changed")}</p>
          <pre className="out">{row.text}</pre>
        </div>
      )}
      {!waits && (
        <p className="problem" role="alert">
          {words("waiting.left")}
        </p>
      )}
      {waits && problem !== undefined && problem !== "changed" && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <textarea
        ref={focus}
        rows={3}
        value={text}
        aria-label={words("waiting.edit.field")}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="tools">
        <button type="button" className="btn sm push" onClick={cancel}>
          {words(isChanged ? "waiting.keep_theirs" : "cancel")}
        </button>
        {!waits && (
          <button type="button" className="btn primary sm" onClick={() => onPutBack(text)}>
            {words("waiting.to_composer")}
          </button>
        )}
        {waits && (
          <button
            type="button"
            className="btn primary sm"
            disabled={isSaving}
            onClick={() => {
              const over = isChanged ? queue.version : version;
              setVersion(over);
              void save(over);
            }}
          >
            {words(isChanged ? "waiting.save_mine" : "waiting.save")}
          </button>
        )}
      </div>
    </div>
  );
}
