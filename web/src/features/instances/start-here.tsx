// Leads to a new session on a host.
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { words } from "../../words/words.ts";

export function StartHere({
  instanceId,
  label,
}: {
  instanceId: string;
  label?: string;
}): ReactNode {
  return (
    <a className="btn primary" href={`/new?instance=${encodeURIComponent(instanceId)}`}>
      <Plus className="icon" aria-hidden />{" "}
      <span className={label === undefined ? "no-phone" : undefined}>
        {label ?? words("host.new_session")}
      </span>
    </a>
  );
}
