// Steps of one thing, and how far it is; or numbered advice.
import type { ReactNode } from "react";
import { words } from "../words/words.ts";
import { Mark } from "./mark.tsx";

type StepState = "ok" | "now" | "next";

const marks = { ok: "done", now: "run", next: "idle" } as const;

export function Steps({ children }: { children: ReactNode }): ReactNode {
  return (
    <ol className="steps" aria-live="polite">
      {children}
    </ol>
  );
}

export function Step({
  state = "now",
  number,
  title,
  aside,
  children,
}: {
  state?: StepState;
  /** Shown instead of the state's mark. */
  number?: number;
  title: string;
  aside?: string | undefined;
  children?: ReactNode;
}): ReactNode {
  return (
    <li className={state}>
      <span className="m">
        {number ?? <Mark state={marks[state]} label={words(`step.${state}`)} />}
      </span>
      <b>{title}</b>
      <span className="dim small">{aside}</span>
      {children && <span className="sub">{children}</span>}
    </li>
  );
}
