// One waiting prompt: its first line, whose it is, who edits it, and what can be done with it.
import { Pen, X } from "lucide-react";
import type { KeyboardEvent, PointerEvent, ReactNode } from "react";
import { words } from "../../words/words.ts";
import { isEditable, type WaitingRow } from "../session-log/index.ts";

interface WaitingRowProps {
  row: WaitingRow;
  place: { n: number; all: number };
  userId: string | undefined;
  mayChange: boolean;
  dropMark: "before" | "after" | undefined;
  /** The person has asked to send it now, and is shown what that does. */
  isAsked: boolean;
  isRunning: boolean;
  onGrip: (event: PointerEvent<HTMLButtonElement>, messageId: string) => void;
  onKeyDown: (event: KeyboardEvent<HTMLLIElement>, row: WaitingRow) => void;
  onAsk: (messageId: string) => void;
  onSendNow: (messageId: string) => void;
  onCancel: () => void;
  onEdit: (row: WaitingRow) => void;
  onRemove: (row: WaitingRow) => void;
}

/** Once it is there: the person has asked for it. */
const focus = (button: HTMLElement | null) => button?.focus();

export function WaitingRowView(props: WaitingRowProps): ReactNode {
  const { row, place, userId, mayChange, dropMark, isAsked, isRunning } = props;
  const { messageId, text, shown } = row;
  const by = shown?.by && shown.by.userId !== userId ? shown.by.name : undefined;
  const held = shown && heldBy(shown, userId);
  const first = shown?.type === "summarize" ? words("waiting.summary") : text.split("\n", 1)[0];
  return (
    <li
      tabIndex={0}
      aria-label={words("waiting.row", place)}
      data-message={messageId}
      data-drop={dropMark}
      onKeyDown={(event) => props.onKeyDown(event, row)}
    >
      {mayChange && place.all > 1 ? (
        <button
          type="button"
          className="grip"
          tabIndex={-1}
          aria-label={words("waiting.grip", place)}
          onPointerDown={(event) => props.onGrip(event, messageId)}
        />
      ) : (
        <span />
      )}
      <span className="cut">
        <bdi>{first}</bdi>
        {by !== undefined && <span className="who">{by}</span>}
        {held !== undefined && <span className="who">{held}</span>}
      </span>
      {mayChange && (
        <span className="acts">
          <button type="button" className="btn bare sm" onClick={() => props.onAsk(messageId)}>
            {words("waiting.send_now")}
          </button>
          {isEditable(row) && (
            <button
              type="button"
              className="btn bare sm sq"
              aria-label={words("waiting.edit")}
              onClick={() => props.onEdit(row)}
            >
              <Pen className="icon s" aria-hidden />
            </button>
          )}
          <button
            type="button"
            className="btn bare sm sq"
            aria-label={words("waiting.remove")}
            onClick={() => props.onRemove(row)}
          >
            <X className="icon s" aria-hidden />
          </button>
        </span>
      )}
      {isAsked && (
        <p className="asked">
          <span className="grow">
            {words(isRunning ? "waiting.send_now.says" : "waiting.send_now.idle")}
          </span>
          <button type="button" className="btn sm" onClick={props.onCancel}>
            {words("cancel")}
          </button>
          <button
            type="button"
            className="btn primary sm"
            ref={focus}
            onClick={() => props.onSendNow(messageId)}
          >
            {words("waiting.send_now")}
          </button>
        </p>
      )}
    </li>
  );
}

function heldBy(
  { holds }: NonNullable<WaitingRow["shown"]>,
  userId: string | undefined,
): string | undefined {
  const [hold] = holds;
  if (!hold) return undefined;
  if (hold.by === null) return words("waiting.held.somebody");
  if (hold.by.userId === userId) return words("waiting.held.own");
  return words("waiting.held.other", { name: hold.by.name });
}
