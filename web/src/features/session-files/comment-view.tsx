// A comment below its lines: a field while it is written, else a card.
import { Pencil, X } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { isMac } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import type { Comment, ReviewStore } from "./review-store.ts";

interface CommentProps {
  comment: Comment;
  /** Its lines are not in the file any more. */
  isLost: boolean;
  store: ReviewStore;
  onEdit: (id: string) => void;
  /** Takes the focus, once. */
  takesFocus: (id: string) => boolean;
  /** Its field was left by a key. */
  onLeave: (comment: Comment) => void;
}

export function CommentView({ comment, isLost, store, onEdit, ...field }: CommentProps): ReactNode {
  const { id, text, state } = comment;
  if (state === "writing") {
    return <CommentField comment={comment} isLost={isLost} store={store} {...field} />;
  }
  return (
    <div className="remark" data-comment={id} tabIndex={-1}>
      <Head comment={comment} isLost={isLost}>
        <button
          type="button"
          className="btn bare sm sq push"
          aria-label={words("comment.edit")}
          onClick={() => onEdit(id)}
        >
          <Pencil className="icon s" aria-hidden />
        </button>
        <button
          type="button"
          className="btn bare sm sq"
          aria-label={words("comment.remove")}
          onClick={() => store.remove(id)}
        >
          <X className="icon s" aria-hidden />
        </button>
      </Head>
      <p>{text}</p>
    </div>
  );
}

function Head({
  comment,
  isLost,
  children,
}: Pick<CommentProps, "comment" | "isLost"> & { children?: ReactNode }): ReactNode {
  const { first, last, side, state, lines } = comment;
  return (
    <>
      <header>
        {state === "draft" && <b>{words("comment.draft")}</b>}
        <span>{words("comment.lines", { first, last, n: last - first + 1, side })}</span>
        {children}
      </header>
      {isLost && (
        <>
          <p className="lost">{words("comment.lost")}</p>
          <pre tabIndex={0}>{lines.join("\n")}</pre>
        </>
      )}
    </>
  );
}

function CommentField({
  comment,
  isLost,
  store,
  takesFocus,
  onLeave,
}: Omit<CommentProps, "onEdit">): ReactNode {
  const { id, first, last, side } = comment;
  // The list removes rows that are out of sight; the store has what was typed in them.
  const [text, setText] = useState(comment.text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!takesFocus(id)) return;
    const element = field.current!;
    element.focus({ preventScroll: true });
    element.setSelectionRange(element.value.length, element.value.length);
  }, [id, takesFocus]);
  const leave = (to: "add" | "leave") => {
    store[to](id);
    onLeave(comment);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, metaKey, ctrlKey, nativeEvent } = event;
    if (nativeEvent.isComposing) return;
    if (key === "Escape") {
      event.stopPropagation();
      leave("leave");
    } else if (key === "Enter" && (metaKey || ctrlKey) && text.trim() !== "") {
      event.preventDefault();
      leave("add");
    }
  };
  return (
    <div className="remark writing" data-comment={id}>
      <Head comment={comment} isLost={isLost} />
      <textarea
        ref={field}
        rows={2}
        value={text}
        aria-label={words("comment.field", { first, last, n: last - first + 1, side })}
        placeholder={words("comment.placeholder")}
        onChange={({ target }) => {
          setText(target.value);
          store.write(id, target.value);
        }}
        onKeyDown={onKeyDown}
      />
      <footer>
        <button type="button" className="btn bare sm" onClick={() => leave("leave")}>
          {words(text.trim() === "" ? "cancel" : "comment.leave")}
        </button>
        <button
          type="button"
          className="btn sm"
          disabled={text.trim() === ""}
          onClick={() => leave("add")}
        >
          {words("comment.add")} <kbd>{isMac ? "⌘↵" : "Ctrl ↵"}</kbd>
        </button>
      </footer>
    </div>
  );
}
