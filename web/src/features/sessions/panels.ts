// Which panels a session has beside its conversation, and which one is shown.
import type { Session } from "@hawser/client";

const panelNames = ["changes", "terminal", "details"] as const;
export type PanelName = (typeof panelNames)[number];
/** Where there is no room for two columns, the conversation is a tab too. */
export type ViewName = "talk" | PanelName;

/** What its agent has no data for is absent. */
export function panelsOf({ capabilities }: Pick<Session, "capabilities">): readonly PanelName[] {
  return panelNames.filter(
    (name) => name === "details" || capabilities.includes(name === "changes" ? "diff" : "shell"),
  );
}

export interface Shown {
  tabs: readonly ViewName[];
  value: ViewName;
}

/** `wanted` is what the address names, which may be none that this session has. */
export function shownOf(
  panels: readonly PanelName[],
  wanted: string | undefined,
  isNarrow: boolean,
): Shown {
  const tabs: readonly ViewName[] = isNarrow ? ["talk", ...panels] : panels;
  return { tabs, value: panels.find((name) => name === wanted) ?? tabs[0]! };
}
