// What shell commands wrote in this session, and one line to run another. The text of a command is stored nowhere, so
// only the page that sent it shows it, until it is loaded again.
import type { Session } from "@hawser/client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Failure } from "../../design/failure.tsx";
import { words } from "../../words/words.ts";
import { linesOf, type Line, type LogSnapshot } from "../session-log/index.ts";
import { isOver } from "./words.ts";

/** Commands that this page has sent, by their shell. */
const sent = new Map<string, string>();

type Drawn =
  | { key: string; is: "command"; text: string | undefined; end: string; isBad: boolean }
  | { key: string; is: "line"; line: Line };

type ShellRow = Extract<LogSnapshot["rows"][number], { is: "shell" }>;

export function TerminalTab({
  session,
  snapshot,
}: {
  session: Session;
  snapshot: LogSnapshot;
}): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const { rows, hasOlder } = snapshot;
  // A press of Enter is answered with the shell's id, after which its text is known.
  const [run, setRun] = useState(0);
  const drawn = useMemo(
    () => rows.filter((row) => row.is === "shell").flatMap((row) => linesOfShell(row, sent)),
    // oxlint-disable-next-line react/exhaustive-deps -- `run` counts what was added to `sent`
    [rows, run],
  );
  const virtual = useVirtualizer({
    count: drawn.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 20,
    getItemKey: (at) => drawn[at]!.key,
    overscan: 20,
  });
  useLayoutEffect(() => {
    if (drawn.length > 0) virtual.scrollToIndex(drawn.length - 1, { align: "end" });
  }, [virtual, drawn.length]);
  return (
    <div className="terminal">
      <div
        className="terminal-out"
        ref={scroller}
        tabIndex={0}
        role="group"
        aria-label={words("terminal.output")}
      >
        {hasOlder && <p className="panel-note">{words("terminal.older")}</p>}
        {drawn.length === 0 && <p className="panel-note">{words("terminal.none")}</p>}
        <div className="terminal-lines" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="terminal-line"
              style={{ transform: `translateY(${start}px)` }}
            >
              <DrawnLine drawn={drawn[index]!} />
            </div>
          ))}
        </div>
      </div>
      <RunLine session={session} onSent={() => setRun((count) => count + 1)} />
    </div>
  );
}

function DrawnLine({ drawn }: { drawn: Drawn }): ReactNode {
  if (drawn.is === "command") {
    return (
      <p className={drawn.isBad ? "terminal-command bad" : "terminal-command"}>
        <span className="cut">{drawn.text ?? words("shell")}</span>
        <span className="push">{drawn.end}</span>
      </p>
    );
  }
  return drawn.line.map(({ text, colour, isBold }, at) => (
    <span
      key={at}
      className={[colour !== undefined && `colour-${colour}`, isBold && "bold"]
        .filter(Boolean)
        .join(" ")}
    >
      {text}
    </span>
  ));
}

function linesOfShell(row: ShellRow, commands: ReadonlyMap<string, string>): Drawn[] {
  const { key, shellId, isOpen, exitCode, reason, output } = row;
  const end = isOpen
    ? words("shell.running")
    : exitCode === null
      ? (reason ?? words("shell.stopped"))
      : words("shell.exit", { exitCode });
  const isBad = !isOpen && exitCode !== 0;
  const lines = output === "" ? [] : linesOf(output);
  return [
    { key, is: "command", text: commands.get(shellId), end, isBad },
    ...lines.map((line, at): Drawn => ({ key: `${key}:${at}`, is: "line", line })),
  ];
}

function RunLine({ session, onSent }: { session: Session; onSent: () => void }): ReactNode {
  const { sessionId, reachable } = session;
  const mayEdit = useMay("sessions:edit");
  const run = useChange("run_shell");
  if (!mayEdit || isOver(session)) return null;
  return (
    <form
      className="run-line"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        const command = (new FormData(form).get("command") as string).trim();
        if (command === "" || !reachable || run.isPending) return;
        run.mutate(
          { sessionId, command },
          {
            onSuccess: ({ shellId }) => {
              sent.set(shellId, command);
              onSent();
              form.reset();
            },
          },
        );
      }}
    >
      {run.isError && <Failure error={run.error} />}
      <label>
        <span className="sr">{words("terminal.run")}</span>
        <input
          className="input mono"
          name="command"
          placeholder={words(reachable ? "terminal.run" : "terminal.offline")}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          disabled={!reachable}
        />
      </label>
    </form>
  );
}
