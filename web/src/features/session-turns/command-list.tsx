// The agent's slash commands above the composer, while the name of one is typed.
import type { ReactNode } from "react";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { Commands } from "./use-commands.ts";

export function CommandList({
  id,
  commands: { shown, active, error, isLoading },
  onPick,
}: {
  id: string;
  commands: Commands;
  onPick: (name: string) => void;
}): ReactNode {
  if (error || shown.length === 0) {
    return (
      <p className="commands empty" role="status">
        {error?.message ?? words(isLoading ? "commands.loading" : "commands.none")}
      </p>
    );
  }
  return (
    <div className="commands" role="listbox" id={id} aria-label={words("commands")}>
      {shown.map(({ name, description }, at) => (
        // The keys are the field's, which keeps the focus.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
        <div
          key={name}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === active}
          ref={(row) => {
            if (at === active) row?.scrollIntoView({ block: "nearest" });
          }}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onPick(name)}
        >
          <span className="mono">
            /<Plain text={name} />
          </span>
          {description !== null && (
            <span className="cut dim">
              <Plain text={description} />
            </span>
          )}
        </div>
      ))}
    </div>
  );
}
