// A quiet line when the service has newer pages than this one. The page is never loaded again by itself.
import { useEffect, useState, type ReactNode } from "react";
import { hasNewVersion } from "../calls/new-version.ts";
import { words } from "../words/words.ts";

const everyMs = 60 * 60_000;

/** `connections`: a service that is updated breaks its streams, so a connection after the first is the time to look. */
export function NewVersion({ connections }: { connections: number }): ReactNode {
  const [isNew, setIsNew] = useState(false);
  useEffect(() => {
    if (isNew) return undefined;
    const ended = new AbortController();
    const look = async () => {
      if (await hasNewVersion(ended.signal)) setIsNew(true);
    };
    if (connections > 1) void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  }, [connections, isNew]);
  if (!isNew) return null;
  return (
    <p className="new-version" role="status">
      {words("version.new")}{" "}
      <button type="button" className="link" onClick={() => location.reload()}>
        {words("version.reload")}
      </button>
    </p>
  );
}
