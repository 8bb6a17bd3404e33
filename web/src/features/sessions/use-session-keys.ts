// What keys and the palette do in a session.
import type { RefObject } from "react";
import { useAct } from "../../keyboard/index.ts";
import type { TranscriptHandle } from "../session-log/index.ts";

interface SessionKeys {
  sessionId: string;
  transcript: RefObject<TranscriptHandle | null>;
  /** The prompt of the running turn. */
  promptId: string | undefined;
  /** Undefined if nothing runs. */
  onStop: (() => void) | undefined;
  onFind: () => void;
}

export function useSessionKeys({
  sessionId,
  transcript,
  promptId,
  onStop,
  onFind,
}: SessionKeys): void {
  useAct("find", () => {
    const input = document.querySelector<HTMLInputElement>(".find-bar input");
    // The second time it is the browser's own search.
    if (input && input === document.activeElement) return false;
    if (input) input.focus();
    else onFind();
    return undefined;
  });
  useAct("folds", () => transcript.current?.toggleFolds());
  useAct("prompt", () => transcript.current?.toPrompt(promptId));
  useAct("follow", () => transcript.current?.toEnd());
  useAct("stop", () => onStop?.(), onStop !== undefined);
  useAct("copy_address", () => {
    void navigator.clipboard.writeText(`${location.origin}/sessions/${sessionId}`);
  });
}
