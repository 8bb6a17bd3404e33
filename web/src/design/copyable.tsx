// A command or a secret with a button that copies it.
import { Check, Copy } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Plain } from "./plain.tsx";
import { words } from "../words/words.ts";

export function Copyable({ text }: { text: string }): ReactNode {
  const [copied, setCopied] = useState<string>();
  const isCopied = copied === text;
  return (
    <div className="copy">
      <span>
        <Plain text={text} />
      </span>
      <button
        type="button"
        className="btn sm"
        onClick={() => {
          // Without a clipboard, as on a page without TLS, the text can still be selected.
          navigator.clipboard?.writeText(text).then(
            () => setCopied(text),
            () => setCopied(undefined),
          );
        }}
      >
        {isCopied ? (
          <Check className="icon s" aria-hidden />
        ) : (
          <Copy className="icon s" aria-hidden />
        )}
        {words(isCopied ? "copied" : "copy")}
      </button>
    </div>
  );
}
