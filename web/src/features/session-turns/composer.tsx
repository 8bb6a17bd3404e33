// The composer. A component of its own, outside the transcript's tree: a key press renders nothing else.
import { ArrowUp, Square } from "lucide-react";
import {
  memo,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
} from "react";
import { words } from "../../words/words.ts";
import { createEscape, sends } from "./composer-keys.ts";
import type { Prompts } from "./prompts.ts";

export interface ComposerHandle {
  /** Adds texts that were not sent, the oldest first. */
  putBack: (texts: readonly string[]) => void;
  focus: () => void;
  isEmpty: () => boolean;
}

interface ComposerProps {
  prompts: Prompts;
  /** Something runs that can be stopped. */
  isRunning: boolean;
  hasRequest: boolean;
  /** Why nothing can be sent now; undefined if it can. */
  blocked: string | undefined;
  /** What the session has cost, such as "$1.84". */
  cost: string | undefined;
  onStop: () => void;
  ref: Ref<ComposerHandle>;
}

export const Composer = memo(function Composer({
  prompts,
  isRunning,
  hasRequest,
  blocked,
  cost,
  onStop,
  ref,
}: ComposerProps): ReactNode {
  const [text, setText] = useState("");
  const [isLeaving, setIsLeaving] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const [escape] = useState(createEscape);

  useEffect(() => {
    let isOver = false;
    const load = async () => {
      const draft = await prompts.load();
      // What was typed meanwhile is newer.
      if (!isOver) setText((typed) => (typed === "" ? draft : typed));
    };
    void load();
    return () => {
      isOver = true;
    };
  }, [prompts]);
  const write = (next: string) => {
    setText(next);
    prompts.setDraft(next);
  };
  useImperativeHandle(ref, () => ({
    putBack: (texts) => write([text, ...texts].filter((each) => each !== "").join("\n\n")),
    focus: () => field.current?.focus(),
    isEmpty: () => field.current?.value === "",
  }));
  useFocusKeys(field);

  const canSend = text.trim() !== "" && blocked === undefined;
  const send = () => {
    if (!canSend) return;
    prompts.send(text);
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // oxlint-disable-next-line typescript/no-deprecated -- only the code tells Safari's last key of a composition
    const { key, keyCode, shiftKey, metaKey, ctrlKey, nativeEvent } = event;
    if (key === "Escape" && !nativeEvent.isComposing) {
      // The listener below is added before this press reaches the window, and would take it for a second one.
      event.stopPropagation();
      leaveOrStop();
      return;
    }
    const isTouch = matchMedia("(pointer: coarse)").matches;
    const pressed = {
      key,
      keyCode,
      isComposing: nativeEvent.isComposing,
      hasShift: shiftKey,
      hasCommand: metaKey || ctrlKey,
      isTouch,
    };
    if (!sends(pressed)) return;
    event.preventDefault();
    send();
  };
  const leaveOrStop = () => {
    field.current?.blur();
    if (!isRunning) return;
    if (escape(performance.now()) === "stop") onStop();
    else setIsLeaving(true);
  };
  // The second Esc comes when the field has no focus any more.
  const onSecond = useEffectEvent(leaveOrStop);
  useEffect(() => {
    if (!isLeaving) return undefined;
    const onKey = ({ key }: globalThis.KeyboardEvent) => {
      if (key === "Escape") onSecond();
    };
    window.addEventListener("keydown", onKey);
    const timer = setTimeout(() => setIsLeaving(false), 600);
    return () => {
      window.removeEventListener("keydown", onKey);
      clearTimeout(timer);
    };
  }, [isLeaving]);

  return (
    <div className="composer">
      {blocked !== undefined && <p className="problem">{blocked}</p>}
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label={words("composer")}
        placeholder={words(
          hasRequest ? "composer.answer_above" : isRunning ? "composer.add" : "composer.reply",
        )}
        enterKeyHint="send"
        onChange={(event) => write(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="tools">
        {isLeaving && <span className="dim">{words("composer.esc_again")}</span>}
        <span className="meter push">{cost}</span>
        {isRunning && (
          <button
            type="button"
            className="go quiet"
            aria-label={words("composer.stop")}
            onClick={onStop}
          >
            <Square className="icon s" fill="currentColor" aria-hidden />
          </button>
        )}
        <button
          type="button"
          className="go"
          aria-disabled={!canSend}
          aria-label={words(isRunning ? "composer.send_next" : "composer.send")}
          onClick={send}
        >
          <ArrowUp className="icon" aria-hidden />
        </button>
      </div>
    </div>
  );
});

/** "/" and "I" lead to the composer from everywhere but a field. */
function useFocusKeys(field: { current: HTMLTextAreaElement | null }): void {
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, isComposing } = event;
      if (ctrlKey || metaKey || altKey || isComposing || (key !== "/" && key.toLowerCase() !== "i"))
        return;
      const { activeElement } = document;
      const isFree =
        activeElement === null ||
        !activeElement.matches("input, textarea, select, [contenteditable]");
      if (!isFree || activeElement?.closest("dialog, [role='menu']")) return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [field]);
}
