// A shell command of a caller. Its text is stored nowhere, so only its output is shown.
import type { ReactNode } from "react";
import { SquareTerminal } from "lucide-react";
import { Mark } from "../../design/mark.tsx";
import { words } from "../../words/words.ts";
import { Output } from "./call-view.tsx";
import type { ShellRow } from "./row.ts";

export function ShellView({ row }: { row: ShellRow }): ReactNode {
  const { isOpen, exitCode, reason, output } = row;
  const isBad = !isOpen && exitCode !== 0;
  const end = isOpen
    ? words("shell.running")
    : exitCode === null
      ? (reason ?? words("shell.stopped"))
      : words("shell.exit", { exitCode });
  return (
    <div>
      <p className={isBad ? "call bad" : "call"}>
        {isOpen ? (
          <Mark state="run" label={words("call.running")} />
        ) : (
          <SquareTerminal className="icon s" aria-hidden />
        )}
        {words("shell")} <span className="time">{end}</span>
      </p>
      {output !== "" && <Output output={output} most={isOpen ? 20 : 200} />}
    </div>
  );
}
