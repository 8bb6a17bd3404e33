// Title, host, directory, agent and branch of a session.
import type { Session } from "@hawser/client";
import { Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import type { ReactNode } from "react";
import { useHost } from "../../calls/use-host.ts";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import { shortDirectory, titleOf } from "./words.ts";

/** `children`: its buttons. */
export function SessionHeader({
  session,
  children,
}: {
  session: Session;
  children: ReactNode;
}): ReactNode {
  const host = useHost(session.instanceId);
  const { directory, worktreeBranch, reachable } = session;
  const rests = session.status === "detached";
  return (
    <header className="bar">
      <Link to="/sessions" className="back only-phone" aria-label={words("session.back")}>
        <ChevronLeft className="icon" aria-hidden />
      </Link>
      <div className="grow">
        <h1 className="cut">
          <Plain text={titleOf(session)} />
        </h1>
        <div className="meta">
          <Mark
            state={reachable ? "on" : "off"}
            label={words(reachable ? "host.online" : "host.offline")}
          />
          {host && (
            <span className="cut">
              <Plain text={host.name} />
            </span>
          )}
          {directory !== null && (
            <>
              <span className="sep">/</span>
              <span className="cut">
                <Plain text={shortDirectory(directory)} />
              </span>
            </>
          )}
          <span className="sep no-phone">/</span>
          <span className="no-phone">{session.agentKind}</span>
          {worktreeBranch !== null && (
            <>
              <span className="sep no-phone">/</span>
              <span className="mono cut no-phone">
                <Plain text={worktreeBranch} />
              </span>
            </>
          )}
          {rests && (
            <>
              <span className="sep no-phone">/</span>
              <span className="no-phone">{words("session.rests")}</span>
            </>
          )}
        </div>
      </div>
      {children}
    </header>
  );
}
