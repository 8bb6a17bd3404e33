// Nothing can be started: no host is online, or there is none.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "../../calls/use-may.ts";
import { words } from "../../words/words.ts";

export function NoHost({ hasHosts, onPair }: { hasHosts: boolean; onPair: () => void }): ReactNode {
  const mayPair = useMay("instances:edit");
  return (
    <div className="blank">
      <h2>{words(hasHosts ? "start.none_online" : "hosts.none")}</h2>
      <p>{words(hasHosts ? "start.kept" : "hosts.none.what")}</p>
      {hasHosts ? (
        <Link to="/hosts" className="btn">
          {words("nav.hosts")}
        </Link>
      ) : (
        mayPair && (
          <button type="button" className="btn primary" onClick={onPair}>
            {words("pair.open")}
          </button>
        )
      )}
    </div>
  );
}
