// Title, host, directory, agent and branch of a session, and what can be done with it.
import type { Session } from "@hawser/client";
import { Link } from "@tanstack/react-router";
import { ChevronLeft, Ellipsis } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Mark } from "../../design/mark.tsx";
import { Menu, MenuItem } from "../../design/menu.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import { isOver, shortDirectory, titleOf } from "./words.ts";

const EndDialog = lazy(() =>
  import("./end-dialog.tsx").then((dialog) => ({ default: dialog.EndDialog })),
);

export function SessionHeader({ session }: { session: Session }): ReactNode {
  const [isEnding, setIsEnding] = useState(false);
  const mayEdit = useMay("sessions:edit");
  const { data } = useRead("search_instances", {});
  const host = data?.instances.find(({ instanceId }) => instanceId === session.instanceId);
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
      {mayEdit && !isOver(session) && (
        <Menu
          trigger={
            <button type="button" className="btn bare sq" aria-label={words("session.actions")}>
              <Ellipsis className="icon" aria-hidden />
            </button>
          }
        >
          <MenuItem className="risk" onSelect={() => setIsEnding(true)}>
            {words("session.end")}
          </MenuItem>
        </Menu>
      )}
      <Suspense fallback={null}>
        {isEnding && <EndDialog session={session} onClose={() => setIsEnding(false)} />}
      </Suspense>
    </header>
  );
}
