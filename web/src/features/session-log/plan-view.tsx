// The agent's plan, at its place in the log and updated there. Older versions fold.
import type { ReactNode } from "react";
import { Mark, type MarkState } from "../../design/mark.tsx";
import { words } from "../../words/words.ts";
import { FoldLine } from "./fold-line.tsx";
import { useFold } from "./folds.ts";
import type { PlanRow, PlanStep } from "./row.ts";

const drawn: Record<PlanStep["status"], { className: string; mark: MarkState }> = {
  completed: { className: "ok", mark: "done" },
  in_progress: { className: "now", mark: "run" },
  pending: { className: "next", mark: "idle" },
};

export function PlanView({ row }: { row: PlanRow }): ReactNode {
  const [isOpen, toggle] = useFold(row.key);
  const { steps, earlier } = row;
  return (
    <div>
      <Steps steps={steps} />
      {earlier.length > 0 && (
        <FoldLine isOpen={isOpen} onToggle={toggle}>
          {words("plan.changed", { n: earlier.length, done: doneOf(steps), all: steps.length })}
        </FoldLine>
      )}
      {isOpen && (
        <div className="calls">
          {earlier.map((version, at) => (
            <Steps key={at} steps={version} />
          ))}
        </div>
      )}
    </div>
  );
}

const doneOf = (steps: readonly PlanStep[]) =>
  steps.filter(({ status }) => status === "completed").length;

function Steps({ steps }: { steps: readonly PlanStep[] }): ReactNode {
  return (
    <div
      className="plan"
      role="group"
      aria-label={words("plan", { done: doneOf(steps), all: steps.length })}
    >
      <ol>
        {steps.map(({ content, status }, at) => {
          const { className, mark } = Object.hasOwn(drawn, status) ? drawn[status] : drawn.pending;
          return (
            <li key={at} className={className}>
              <span className="m">
                <Mark state={mark} label={words(`plan.${status}`)} />
              </span>
              {/* What stands between backticks is code, as in the agent's text. */}
              {content
                .split("`")
                .map((piece, n) => (n % 2 === 1 ? <code key={n}>{piece}</code> : piece))}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
