// Tool calls: a line with icon, verb and target; what a failed or running one wrote below it; and folds of calls.
import {
  ArrowLeftRight,
  Brain,
  FileText,
  Globe,
  Pencil,
  Plus,
  Search,
  SquareTerminal,
  Trash2,
  Wrench,
  type LucideIcon,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { useNow } from "../../design/ago.tsx";
import { duration } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { changedLines, durationOf, lastLines, outputOf, wordsOf } from "./call-words.ts";
import { foldMs, foldWords } from "./fold.ts";
import { FoldLine } from "./fold-line.tsx";
import { callKey, useFold } from "./folds.ts";
import type { Call, FoldRow, ToolContent } from "./row.ts";
import { withoutInstructions } from "./terminal-lines.ts";

const icons: Record<string, LucideIcon> = {
  read: FileText,
  edit: Pencil,
  delete: Trash2,
  move: ArrowLeftRight,
  search: Search,
  execute: SquareTerminal,
  think: Brain,
  fetch: Globe,
};

/** How many lines of a failed or running call stand below it. */
const tailLines = 5;
/** An output that is longer shows its end first. */
const mostLines = 200;

export function FoldView({ row }: { row: FoldRow }): ReactNode {
  const [isOpen, toggle] = useFold(row.key);
  return (
    <div>
      <FoldLine isOpen={isOpen} onToggle={toggle} time={duration(foldMs(row.calls))}>
        <span className="cut">{foldWords(row.calls)}</span>
      </FoldLine>
      {isOpen && (
        <div className="calls">
          {row.calls.map((call) => (
            <CallView key={call.toolCallId} call={call} />
          ))}
        </div>
      )}
    </div>
  );
}

export function CallView({ call }: { call: Call }): ReactNode {
  const { toolCallId, kind, state, decided, content } = call;
  const [isOpen, toggle] = useFold(callKey(toolCallId));
  const { verb, target } = wordsOf(call);
  const Icon = Object.hasOwn(icons, kind) ? icons[kind]! : Wrench;
  const isCreated = verb === words("call.create.past");
  const output = outputOf(call);
  const hasMore =
    output !== "" || content.some(({ type }) => type === "patch") || decided !== undefined;
  return (
    <div data-call={toolCallId}>
      <button
        type="button"
        className={state === "failed" ? "call bad" : "call"}
        aria-expanded={isOpen}
        aria-disabled={!hasMore}
        onClick={toggle}
      >
        {state === "running" ? (
          <Mark state="run" label={words("call.running")} />
        ) : isCreated ? (
          <Plus className="icon s" aria-hidden />
        ) : (
          <Icon className="icon s" aria-hidden />
        )}
        <span className="verb">{verb}</span>{" "}
        <code className="cut">
          <Plain text={target.replaceAll(/\s+/g, " ")} />
        </code>
        <span className="time">
          <Result call={call} />
        </span>
      </button>
      {decided && isOpen && (
        <p className="by">
          {words(decided.answer === "allow" ? "call.not_asked" : "call.refused", {
            rule: decided.rule,
          })}
        </p>
      )}
      {isOpen && content.map((part, at) => <Part key={at} part={part} />)}
      {!isOpen && state === "failed" && output !== "" && (
        <Output output={output} most={tailLines} onShowAll={toggle} />
      )}
    </div>
  );
}

/** What stands at the right of the line. */
function Result({ call }: { call: Call }): ReactNode {
  const { state, at } = call;
  if (state === "running") return <Since at={at} />;
  if (state === "unfinished") return words("call.unfinished");
  const changed = changedLines(call);
  if (changed) {
    return (
      <>
        {changed.added > 0 && <span className="plus">+{changed.added}</span>}{" "}
        {changed.removed > 0 && <span className="minus">−{changed.removed}</span>}
      </>
    );
  }
  const ms = durationOf(call);
  const time = ms === undefined ? "" : duration(ms);
  const end =
    call.exitCode !== undefined
      ? words("shell.exit", { exitCode: call.exitCode })
      : state === "failed"
        ? words("call.failed")
        : "";
  return [end, time].filter(Boolean).join(" · ");
}

function Since({ at }: { at: string }): ReactNode {
  const now = useNow(1_000);
  return duration(Math.max(0, Math.floor((now - Date.parse(at)) / 1000) * 1000));
}

function Part({ part }: { part: ToolContent }): ReactNode {
  if (part.type === "patch") return <Patch patch={part.patch} />;
  if (part.content.text === "") return null;
  return <Output output={part.content.text} most={mostLines} />;
}

/** The end of an output, and all of it when asked for. */
export function Output({
  output,
  most,
  onShowAll,
}: {
  output: string;
  most: number;
  onShowAll?: () => void;
}): ReactNode {
  const [isWhole, setIsWhole] = useState(false);
  const { text, shown, total } = lastLines(output, isWhole ? Infinity : most);
  return (
    <div className="out" tabIndex={0} role="group" aria-label={words("call.output")}>
      {withoutInstructions(text)}
      {shown < total && (
        <footer>
          {words("call.tail", { shown, total })} ·{" "}
          <button type="button" onClick={() => (onShowAll ? onShowAll() : setIsWhole(true))}>
            {words("call.show_all")}
          </button>
        </footer>
      )}
    </div>
  );
}

function Patch({ patch }: { patch: string }): ReactNode {
  const lines = patch
    .replace(/\n$/, "")
    .split("\n")
    .filter((line) => !/^(?:---|\+\+\+|diff|index) /.test(line));
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, mostLines);
  return (
    <div className="out patch" tabIndex={0} role="group" aria-label={words("call.patch")}>
      {shown.map((line, at) => (
        <span
          key={at}
          className={
            line.startsWith("+")
              ? "add"
              : line.startsWith("-")
                ? "del"
                : line.startsWith("@@")
                  ? "hunk"
                  : ""
          }
        >
          {line === "" ? " " : line}
        </span>
      ))}
      {shown.length < lines.length && (
        <footer>
          <button type="button" onClick={() => setIsWhole(true)}>
            {words("call.show_all")}
          </button>
        </footer>
      )}
    </div>
  );
}
