// The comments that are not sent yet. The tray exists only while there is one, or while the page says what became of
// those that were sent.
import { Ellipsis } from "lucide-react";
import { useState, useSyncExternalStore, type KeyboardEvent, type ReactNode } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { Menu, MenuItem, MenuLine } from "../../design/menu.tsx";
import { Plain } from "../../design/plain.tsx";
import { lineReference } from "../../words/line-reference.ts";
import { words } from "../../words/words.ts";
import { drafts } from "../drafts/index.ts";
import { promptsOf, type Prompts } from "../session-turns/index.ts";
import { inFileOrder, promptOf } from "./prompt.ts";
import type { Comment } from "./review-store.ts";
import type { Reviewing } from "./use-reviewing.ts";

export function Tray({
  reviewing,
  onChoose,
}: {
  reviewing: Reviewing;
  /** Leads to a comment. Undefined: the tray is one line, without a list. */
  onChoose?: (comment: Comment) => void;
}): ReactNode {
  const { sessionId, userId, files, review, store, blocked } = reviewing;
  const prompts = promptsOf(userId, sessionId, drafts);
  const [isPreviewed, setIsPreviewed] = useState(false);
  const [isDiscarding, setIsDiscarding] = useState(false);
  const [sentKey, setSentKey] = useState<string>();
  const paths = files.map(({ path }) => path);
  const added = inFileOrder(
    review.comments.filter(({ state }) => state === "added"),
    paths,
  );
  if (added.length === 0) {
    return sentKey === undefined ? null : <Sent prompts={prompts} sentKey={sentKey} />;
  }
  const text = () => promptOf(added, paths, store.get().opening);
  const send = () => {
    setIsPreviewed(false);
    const prompt = text();
    store.take();
    void prompts.sendBeside(prompt).then(setSentKey);
  };
  const title = words("tray", { n: added.length });
  return (
    <section className={onChoose ? "tray" : "tray line"} aria-label={words("tray.title")}>
      <b>{title}</b>
      {onChoose && (
        <ol>
          {added.map((comment) => (
            <li key={comment.id}>
              <button type="button" onClick={() => onChoose(comment)}>
                <span className="cut">{comment.text}</span>
                <small className="cut">
                  <Plain text={lineReference({ ...comment, path: nameOf(comment.path) })} />
                </small>
              </button>
            </li>
          ))}
        </ol>
      )}
      <div className="row">
        <button
          type="button"
          className="btn primary grow"
          disabled={blocked !== undefined}
          onClick={send}
        >
          {words("tray.send")}
        </button>
        <Menu
          trigger={
            <button type="button" className="btn bare sq" aria-label={words("tray.menu")}>
              <Ellipsis className="icon" aria-hidden />
            </button>
          }
        >
          <MenuItem onSelect={() => setIsPreviewed(true)}>{words("tray.preview")}</MenuItem>
          <MenuItem onSelect={() => void navigator.clipboard.writeText(text())}>
            {words("tray.copy")}
          </MenuItem>
          <MenuLine />
          <MenuItem className="risk" onSelect={() => setIsDiscarding(true)}>
            {words("tray.discard")}
          </MenuItem>
        </Menu>
      </div>
      {blocked !== undefined && <p className="problem">{blocked}</p>}
      {isDiscarding && (
        <Dialog
          title={words("tray.discard.sure", { n: added.length })}
          onClose={() => setIsDiscarding(false)}
          footer={
            <>
              <span className="push" />
              <button type="button" className="btn" onClick={() => setIsDiscarding(false)}>
                {words("cancel")}
              </button>
              <button
                type="button"
                className="btn risk"
                onClick={() => {
                  setIsDiscarding(false);
                  store.take();
                }}
              >
                {words("tray.discard")}
              </button>
            </>
          }
        >
          <p>{words("tray.discard.what")}</p>
        </Dialog>
      )}
      {isPreviewed && (
        <Preview
          title={title}
          comments={added}
          paths={paths}
          reviewing={reviewing}
          onSend={send}
          onClose={() => setIsPreviewed(false)}
        />
      )}
    </section>
  );
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

function Preview({
  title,
  comments,
  paths,
  reviewing: { store, blocked },
  onSend,
  onClose,
}: {
  title: string;
  comments: readonly Comment[];
  paths: readonly string[];
  reviewing: Reviewing;
  onSend: () => void;
  onClose: () => void;
}): ReactNode {
  const [opening, setOpening] = useState(store.get().opening);
  const isBlocked = blocked !== undefined;
  const onKeyDown = ({ key, metaKey, ctrlKey, nativeEvent }: KeyboardEvent) => {
    if (key === "Enter" && (metaKey || ctrlKey) && !nativeEvent.isComposing && !isBlocked) onSend();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn primary" disabled={isBlocked} onClick={onSend}>
            {words("tray.send")}
          </button>
        </>
      }
    >
      <label className="field">
        <span>{words("tray.opening")}</span>
        <input
          className="input"
          value={opening}
          onChange={({ target }) => {
            setOpening(target.value);
            store.writeOpening(target.value);
          }}
          onKeyDown={onKeyDown}
        />
      </label>
      <pre className="out" tabIndex={0} aria-label={words("tray.prompt")}>
        {promptOf(comments, paths, opening)}
      </pre>
      {blocked !== undefined && <p className="problem">{blocked}</p>}
    </Dialog>
  );
}

/** What became of the prompt. It stands in the conversation too, with all that can be done about it. */
function Sent({ prompts, sentKey }: { prompts: Prompts; sentKey: string }): ReactNode {
  const pending = useSyncExternalStore(prompts.subscribe, prompts.get).find(
    ({ idempotencyKey }) => idempotencyKey === sentKey,
  );
  return (
    <p className="tray line" role="status">
      {pending?.state === "failed" ? (
        <>
          <span className="problem">{words("tray.not_sent")}</span>
          <button type="button" className="btn sm" onClick={() => prompts.again(sentKey)}>
            {words("try_again")}
          </button>
        </>
      ) : (
        words(pending?.state === "sending" ? "tray.sending" : "tray.sent")
      )}
    </p>
  );
}
