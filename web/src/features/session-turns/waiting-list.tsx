// The list of waiting prompts: one row, or a line that opens to rows. Keys: Q to the list, Alt and an arrow to move,
// Enter to edit, Delete to remove, S to send now.
import { ChevronRight } from "lucide-react";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useAct } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { isEditable, placeBeside, type WaitingRow } from "../session-log/index.ts";
import type { UsedQueue } from "./use-queue.ts";
import { useDrag } from "./use-drag.ts";
import { WaitingEdit, type Edited } from "./waiting-edit.tsx";
import { useWaitingOpen } from "./waiting-open.ts";
import { WaitingRowView } from "./waiting-row.tsx";

interface WaitingListProps {
  sessionId: string;
  queue: UsedQueue;
  isRunning: boolean;
  mayChange: boolean;
  userId: string | undefined;
  hasRequest: boolean;
  onRemove: (row: WaitingRow) => Promise<void>;
  onEditing: (isEditing: boolean) => void;
  putBack: (texts: readonly string[]) => void;
}

export function WaitingList(props: WaitingListProps): ReactNode {
  const {
    sessionId,
    queue,
    isRunning,
    mayChange,
    userId,
    hasRequest,
    onRemove,
    onEditing,
    putBack,
  } = props;
  const { rows, version, change } = queue;
  const [isKeptOpen, setIsOpen] = useWaitingOpen(sessionId);
  const [edited, setEdited] = useState<Edited>();
  const [asked, setAsked] = useState<string>();
  const [said, setSaid] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const isOne = rows.length === 1;
  const isOpen = isOne || isKeptOpen || edited !== undefined;

  const edit = (row: WaitingRow | undefined) => {
    onEditing(row !== undefined);
    if (!row) return setEdited(undefined);
    setEdited({ messageId: row.messageId, text: row.text, version });
  };
  const move = async (messageId: string, beforeMessageId: string | null) => {
    const { prompts } = await change("move_queued_prompt", { messageId, beforeMessageId });
    const n = prompts.findIndex((prompt) => prompt.messageId === messageId) + 1;
    if (n > 0) setSaid(words("waiting.moved", { n, all: prompts.length }));
  };
  // What is refused is said below the list.
  const start = (work: Promise<unknown>) => void work.catch(() => {});
  const sendNow = (messageId: string) => {
    setAsked(undefined);
    start(change("send_queued_prompt_now", { messageId }));
  };
  const drag = useDrag(list, (messageId, beforeMessageId) =>
    start(move(messageId, beforeMessageId)),
  );
  useQueueKey(list, () => setIsOpen(true));

  const focusBeside = (row: Element, by: -1 | 1) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("li[tabindex]") ?? [])];
    all[all.indexOf(row as HTMLElement) + by]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLLIElement>, row: WaitingRow) => {
    const { key, altKey, ctrlKey, metaKey, target, currentTarget } = event;
    if (target !== currentTarget || ctrlKey || metaKey || event.nativeEvent.isComposing) return;
    const by = key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : undefined;
    const isCommand = !altKey && mayChange;
    if (by && !altKey) focusBeside(currentTarget, by);
    else if (by && mayChange) {
      const place = placeBeside(rows, row.messageId, by);
      if (place) start(move(row.messageId, place.beforeMessageId));
    } else if (isCommand && key === "Enter" && isEditable(row)) edit(row);
    else if (isCommand && (key === "Delete" || key === "Backspace")) start(onRemove(row));
    else if (isCommand && key.toLowerCase() === "s") ask(row.messageId);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const ask = (messageId: string) => (isRunning ? setAsked(messageId) : sendNow(messageId));

  const left = edited && !rows.some(({ messageId }) => messageId === edited.messageId);
  // Under the same key, so that the field keeps what was written.
  const drawn: readonly WaitingRow[] = left
    ? [...rows, { messageId: edited.messageId, text: edited.text, shown: undefined }]
    : rows;
  const editor = (row: WaitingRow | undefined) => (
    <WaitingEdit
      edited={edited!}
      row={row}
      queue={queue}
      onDone={() => {
        edit(undefined);
        list.current?.querySelector<HTMLElement>("li[tabindex]")?.focus();
      }}
      onPutBack={(text) => {
        edit(undefined);
        putBack([text]);
      }}
    />
  );
  return (
    <div className={hasRequest && !edited ? "waiting beside-request" : "waiting"}>
      {!isOne && rows.length > 0 && (
        <button
          type="button"
          className="fold-line"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <ChevronRight className="chevron" aria-hidden />
          {words("waiting", { n: rows.length })}
          <span className="push dim no-phone">{words("waiting.each")}</span>
        </button>
      )}
      {isOpen && (
        <ol ref={list}>
          {drawn.map((row, index) =>
            row.messageId === edited?.messageId ? (
              <li key={row.messageId} className="editing">
                {editor(left ? undefined : row)}
              </li>
            ) : (
              <WaitingRowView
                key={row.messageId}
                row={row}
                place={{ n: index + 1, all: rows.length }}
                userId={userId}
                mayChange={mayChange}
                dropMark={drag.markOf(row.messageId, index === rows.length - 1)}
                isAsked={asked === row.messageId}
                isRunning={isRunning}
                onGrip={drag.begin}
                onKeyDown={onKeyDown}
                onAsk={ask}
                onSendNow={sendNow}
                onCancel={() => setAsked(undefined)}
                onEdit={edit}
                onRemove={(removed) => start(onRemove(removed))}
              />
            ),
          )}
        </ol>
      )}
      {queue.problem !== undefined && !edited && (
        <p className="problem" role="alert">
          {queue.problem}
        </p>
      )}
      <span className="sr" role="status">
        {said}
      </span>
    </div>
  );
}

/** A key leads to the waiting prompts. */
function useQueueKey(list: { current: HTMLOListElement | null }, open: () => void): void {
  useAct("queue", () => {
    open();
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>("li[tabindex]")?.focus());
  });
}
