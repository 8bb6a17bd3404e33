// A prompt: who sent what, when. A prompt of this page that the log does not have yet is pending, and never lost.
import { Copy, Ellipsis, GitFork, Link, Undo2 } from "lucide-react";
import { Suspense, useContext, type ReactNode } from "react";
import { Menu, MenuItem } from "../../design/menu.tsx";
import { part } from "../../design/part.tsx";
import { clock } from "../../words/figures.ts";
import { exactly } from "../../words/times.ts";
import { words } from "../../words/words.ts";
import { PromptActs } from "./prompt-acts.ts";
import { PromptAuthor } from "./prompt-author.ts";
import { PromptText } from "./prompt-text.tsx";
import type { DrawnRow } from "./drawn-row.ts";

const PromptFiles = part(async () => (await import("./prompt-files.tsx")).PromptFiles);

type PromptRow = Extract<DrawnRow, { is: "prompt" }>;
type Drawn = Extract<DrawnRow, { is: "prompt" | "pending" }>;

export function PromptView({ row }: { row: Drawn }): ReactNode {
  const author = useContext(PromptAuthor)(row.is === "pending" ? "own" : row.by);
  return (
    <article
      className={row.is === "pending" ? "said pending" : "said"}
      id={row.is === "prompt" ? row.messageId : undefined}
    >
      <header>
        <b>{author}</b>
        {row.is === "prompt" ? (
          <>
            <time dateTime={row.at} title={exactly(row.at)}>
              {clock(row.at)}
            </time>
            <PromptMenu row={row} />
          </>
        ) : (
          <span>{words(row.problem === undefined ? "prompt.sending" : "prompt.not_sent")}</span>
        )}
      </header>
      <div className="prose plain more" tabIndex={0} role="group" aria-label={author}>
        <PromptText text={row.text} />
      </div>
      {row.is === "prompt" && row.files.length > 0 && (
        <Suspense fallback={<div className="sent-files" />}>
          <PromptFiles files={row.files} />
        </Suspense>
      )}
      {row.is === "pending" && row.problem !== undefined && (
        <p className="reason" role="alert">
          {row.problem}{" "}
          <button type="button" className="btn sm" onClick={row.onAgain}>
            {words("try_again")}
          </button>{" "}
          <button type="button" className="btn sm" onClick={row.onTakeBack}>
            {words("note.put_back")}
          </button>
        </p>
      )}
    </article>
  );
}

function PromptMenu({ row }: { row: PromptRow }): ReactNode {
  const { onRevert, onFork } = useContext(PromptActs);
  const { text, messageId, at, seq } = row;
  const link = `${location.origin}${location.pathname}?entry=${seq}`;
  return (
    <Menu
      trigger={
        <button type="button" className="btn bare sm push" aria-label={words("prompt.menu")}>
          <Ellipsis className="icon s" aria-hidden />
        </button>
      }
    >
      <MenuItem onSelect={() => void navigator.clipboard.writeText(link)}>
        <Link className="icon s" aria-hidden /> {words("prompt.copy_link")}
      </MenuItem>
      <MenuItem onSelect={() => void navigator.clipboard.writeText(text)}>
        <Copy className="icon s" aria-hidden /> {words("prompt.copy")}
      </MenuItem>
      {onRevert && (
        <MenuItem onSelect={() => onRevert({ messageId, at })}>
          <Undo2 className="icon s" aria-hidden /> {words("prompt.revert")}
        </MenuItem>
      )}
      {onFork && (
        <MenuItem onSelect={onFork}>
          <GitFork className="icon s" aria-hidden /> {words("prompt.fork")}
        </MenuItem>
      )}
    </Menu>
  );
}
