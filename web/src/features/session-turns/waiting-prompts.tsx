// Prompts that wait for an earlier turn, above the composer. Nothing is shown while nothing waits.
import { ChevronRight } from "lucide-react";
import { useState, type ReactNode } from "react";
import { words } from "../../words/words.ts";

interface Waiting {
  messageId: string;
  text: string;
}

export function WaitingPrompts({ prompts }: { prompts: readonly Waiting[] }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  if (prompts.length === 0) return null;
  const isOne = prompts.length === 1;
  return (
    <div className="waiting">
      {!isOne && (
        <button
          type="button"
          className="fold-line"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <ChevronRight className="chevron" aria-hidden />
          {words("waiting", { n: prompts.length })}
        </button>
      )}
      {(isOne || isOpen) && (
        <ol>
          {prompts.map(({ messageId, text }) => (
            <li key={messageId}>
              <span className="cut">{text.split("\n", 1)[0]}</span>
              <span className="dim">{words("waiting.waits")}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
