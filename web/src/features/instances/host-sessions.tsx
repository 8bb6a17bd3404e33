// The sessions of a host that have not ended.
import type { InstanceDetail } from "@hawser/client";
import type { ReactNode } from "react";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";

export function HostSessions({ host }: { host: InstanceDetail }): ReactNode {
  return (
    <section className="sec">
      <header>
        <h2>{words("hosts.sessions")}</h2>
      </header>
      <div className="group">
        {host.activeSessions.length === 0 && <p className="line dim">{words("none")}</p>}
        {host.activeSessions.map(({ sessionId, title, agentKind }) => (
          <div key={sessionId} className="line">
            <div className="grow">
              <span className="cut wide-block">
                {title === null ? words("host.session.untitled") : <Plain text={title} />}
              </span>
              <span className="sub">{agentKind}</span>
            </div>
          </div>
        ))}
      </div>
    </section>
  );
}
