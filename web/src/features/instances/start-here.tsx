// Leads to a new session on a host. It rests while the host is not online, with the reason on it.
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { words } from "../../words/words.ts";

export function StartHere({
  instanceId,
  label = words("host.new_session"),
  rest,
  isShort = false,
}: {
  instanceId: string;
  label?: string;
  /** Why no session can be started there now. */
  rest?: string | undefined;
  /** On a phone only its sign is shown. */
  isShort?: boolean;
}): ReactNode {
  const content = (
    <>
      <Plus className="icon" aria-hidden />{" "}
      <span className={isShort ? "no-phone" : ""}>{label}</span>
    </>
  );
  if (rest !== undefined) {
    return (
      <button type="button" className="btn primary" disabled title={rest} aria-label={label}>
        {content}
      </button>
    );
  }
  return (
    <Link to="/new" search={{ instance: instanceId }} className="btn primary" aria-label={label}>
      {content}
    </Link>
  );
}
