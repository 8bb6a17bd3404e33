// Tabs: one of several panels is shown. The panel of a tab has the ids that `panelProps` gives it.
import { Tabs } from "radix-ui";
import type { ReactNode } from "react";

export interface Tab<Name extends string> {
  name: Name;
  label: string;
  /** How many things the panel has. */
  count?: number | undefined;
}

const tabId = (name: string) => `tab-${name}`;
const panelId = (name: string) => `panel-${name}`;

export const panelProps = (name: string) => ({
  id: panelId(name),
  role: "tabpanel",
  "aria-labelledby": tabId(name),
});

export function TabList<Name extends string>({
  label,
  tabs,
  value,
  onChoose,
}: {
  label: string;
  tabs: readonly Tab<Name>[];
  value: Name;
  onChoose: (name: Name) => void;
}): ReactNode {
  return (
    <Tabs.Root value={value} onValueChange={(name) => onChoose(name as Name)}>
      <Tabs.List className="tabs" aria-label={label}>
        {tabs.map(({ name, label: text, count }) => (
          <Tabs.Trigger
            key={name}
            value={name}
            id={tabId(name)}
            // Only the shown panel is on the page.
            aria-controls={name === value ? panelId(name) : undefined}
          >
            {text}
            {count !== undefined && count > 0 && <small>{count}</small>}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
    </Tabs.Root>
  );
}
