// Dialogs, which are sheets from below on a phone. The platform's own element keeps the focus inside, gives it back,
// and closes with Esc.
import { X } from "lucide-react";
import { useEffect, useId, useRef, type ReactNode } from "react";
import { Plain } from "./plain.tsx";
import { words } from "../words/words.ts";

interface DialogProps {
  title: string;
  /** Undefined: it stays until its content says otherwise. */
  onClose?: (() => void) | undefined;
  children: ReactNode;
  footer?: ReactNode;
}

/** Open as long as it is drawn. */
export function Dialog({ title, onClose, children, footer }: DialogProps): ReactNode {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // Whoever opens a dialog with a field wants to type.
    dialog?.querySelector<HTMLElement>(".body input:not([readonly])")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className="dialog sheet"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <header>
        <h2 id={titleId}>
          <Plain text={title} />
        </h2>
        {onClose && (
          <button
            type="button"
            className="btn bare sq push"
            aria-label={words("close")}
            onClick={onClose}
          >
            <X className="icon" aria-hidden />
          </button>
        )}
      </header>
      <div className="body">{children}</div>
      {footer && <footer>{footer}</footer>}
    </dialog>
  );
}
