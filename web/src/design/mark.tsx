// Marks of states. Shape and colour say the same; `label` says it to those who see neither.
import { Check } from "lucide-react";
import type { ReactNode } from "react";

/** ask: waits for a person. on: online or ready. off: not reachable. wait: not there yet. */
export type MarkState =
  | "ask"
  | "run"
  | "idle"
  | "unread"
  | "err"
  | "end"
  | "on"
  | "off"
  | "wait"
  | "done";

/** Without a label it is decoration: the text beside it says the same. */
export function Mark({ state, label }: { state: MarkState; label?: string }): ReactNode {
  const naming =
    label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  if (state === "done") return <Check className="icon done" {...naming} />;
  return <span className={`st ${state}`} {...naming} />;
}
