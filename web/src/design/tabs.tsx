// Tabs: one of several panels is shown. The panel of a tab has the ids that `panelProps` gives it.
import { useRef, type KeyboardEvent, type ReactNode } from "react";

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
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const at = placeAfter(
      event.key,
      tabs.findIndex(({ name }) => name === value),
      tabs.length,
    );
    if (at === undefined) return;
    event.preventDefault();
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus();
    onChoose(tabs[at]!.name);
  };
  return (
    // The keys are those of the tabs, of which one has the focus.
    // oxlint-disable-next-line jsx-a11y/interactive-supports-focus
    <div ref={list} role="tablist" className="tabs" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(({ name, label: text, count }) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={tabId(name)}
          aria-selected={name === value}
          // Only the shown panel is on the page.
          aria-controls={name === value ? panelId(name) : undefined}
          // Tab leads to the chosen one, and from there to its panel.
          tabIndex={name === value ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {text}
          {count !== undefined && count > 0 && <small>{count}</small>}
        </button>
      ))}
    </div>
  );
}

/** Where a key leads in a list of tabs; undefined if it is no key of tabs. */
function placeAfter(key: string, at: number, length: number): number | undefined {
  if (key === "ArrowRight") return (at + 1) % length;
  if (key === "ArrowLeft") return (at - 1 + length) % length;
  if (key === "Home") return 0;
  return key === "End" ? length - 1 : undefined;
}
