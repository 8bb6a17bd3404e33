// Dialogs, which are sheets from below on a phone. The platform's own element keeps the focus inside, gives it back,
// and closes with Esc.
import "./dialog.css";
import { X } from "lucide-react";
import { useId, useLayoutEffect, useRef, type ReactNode, type SyntheticEvent } from "react";
import { Plain } from "./plain.tsx";
import { words } from "../words/words.ts";

interface DialogProps {
  title: string;
  /** Undefined: it stays until its content says otherwise. */
  onClose?: (() => void) | undefined;
  children: ReactNode;
  footer?: ReactNode;
  /** Its content is all that is shown; the title is for readers. */
  isBare?: boolean;
  /** Nothing of the page is seen behind it, and no key closes it. */
  hidesPage?: boolean;
}

/** Whoever opens a dialog with a field wants to type. */
const field =
  "input:not([readonly], [type=checkbox], [type=radio]:not(:checked)), textarea:not([readonly])";
/** The platform alone would choose the button that closes. */
const act = ":is(.body, footer) :is(a[href], button:not(:disabled))";

/** Open as long as it is drawn. */
export function Dialog({
  title,
  onClose,
  children,
  footer,
  isBare = false,
  hidesPage = false,
}: DialogProps): ReactNode {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the element is gone, so that it can give the focus back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    (dialog?.querySelector<HTMLElement>(field) ?? dialog?.querySelector<HTMLElement>(act))?.focus();
    return () => dialog?.close();
  }, []);
  const common = {
    ref,
    onCancel: (event: SyntheticEvent) => {
      event.preventDefault();
      onClose?.();
    },
  };
  if (isBare) {
    return (
      <dialog {...common} className="dialog sheet bare" aria-label={title}>
        {children}
      </dialog>
    );
  }
  return (
    <dialog
      {...common}
      className={hidesPage ? "dialog sheet alone" : "dialog sheet"}
      closedby={hidesPage ? "none" : undefined}
      aria-labelledby={titleId}
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
