// /new starts a session. /start does the same until there is one, and shows what was found on the host.
import type { ReactNode } from "react";
import { usePageTitle } from "../../design/page-title.ts";
import { words } from "../../words/words.ts";
import { FoundAgents } from "./found-agents.tsx";
import { PhoneRow } from "./phone-row.tsx";
import { StartBox } from "./start-box.tsx";

interface PageProps {
  onStarted: (sessionId: string) => void;
}

export function NewPage({
  wantedHost,
  onStarted,
}: PageProps & { wantedHost: string | undefined }): ReactNode {
  usePageTitle(words("start.new"));
  return (
    <div className="page">
      <div className="start">
        <h1>{words("start.what")}</h1>
        <StartBox wantedHost={wantedHost} onStarted={onStarted} />
      </div>
    </div>
  );
}

export function StartPage({ onStarted }: PageProps): ReactNode {
  usePageTitle(words("start.start"));
  return (
    <div className="page">
      <div className="start">
        <h1>{words("start.what")}</h1>
        <StartBox onStarted={onStarted}>{(host) => <FoundAgents host={host} />}</StartBox>
        <PhoneRow />
      </div>
    </div>
  );
}
