// The buttons of a session's header: pushing, or the way to the pull request, and a menu of the rest.
import type { Session } from "@hawser/client";
import { Ellipsis, GitPullRequest } from "lucide-react";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Menu, MenuItem, MenuLine } from "../../design/menu.tsx";
import { useAct } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import type { Act, OpenDialog } from "./acts.ts";
import { useGit } from "./use-git.ts";
import { WebLink } from "./web-link.tsx";

interface SessionActsProps {
  session: Session;
  acts: ReadonlySet<Act>;
  onOpen: (dialog: OpenDialog) => void;
  onNotice: (text: string) => void;
}

export function SessionActs({ session, acts, onOpen, onNotice }: SessionActsProps): ReactNode {
  const { sessionId } = session;
  const pullRequestUrl = useGit(session)?.pullRequestUrl ?? null;
  const summarize = useChange("summarize_session");
  useAct("push", () => onOpen({ is: "push" }), acts.has("push"));
  useAct("fork", () => onOpen({ is: "fork" }), acts.has("fork"));
  useAct("end_session", () => onOpen({ is: "end" }), acts.has("end"));
  if (acts.size === 0) return null;
  const push = (className: string) => (
    <button
      type="button"
      className={className}
      aria-keyshortcuts="P"
      onClick={() => onOpen({ is: "push" })}
    >
      <GitPullRequest className="icon" aria-hidden /> {words("push")}
    </button>
  );
  return (
    <>
      {pullRequestUrl === null ? (
        acts.has("push") && push("btn no-phone")
      ) : (
        <WebLink address={pullRequestUrl} className="btn no-phone">
          <GitPullRequest className="icon" aria-hidden /> {words("push.pr")}
        </WebLink>
      )}
      <Menu
        trigger={
          <button type="button" className="btn bare sq" aria-label={words("session.actions")}>
            <Ellipsis className="icon" aria-hidden />
          </button>
        }
      >
        {acts.has("push") && (
          <MenuItem onSelect={() => onOpen({ is: "push" })}>
            {words(pullRequestUrl === null ? "push" : "push.again")}
          </MenuItem>
        )}
        {acts.has("rename") && (
          <MenuItem onSelect={() => onOpen({ is: "rename" })}>{words("rename")}</MenuItem>
        )}
        {acts.has("fork") && (
          <MenuItem onSelect={() => onOpen({ is: "fork" })}>{words("fork")}</MenuItem>
        )}
        {acts.has("summarize") && (
          <MenuItem
            onSelect={() =>
              summarize.mutate(
                { sessionId },
                {
                  onSuccess: () => onNotice(words("summarize.taken")),
                  onError: (error) => onNotice(error.message),
                },
              )
            }
          >
            {words("summarize")}
          </MenuItem>
        )}
        {acts.has("end") && (
          <>
            <MenuLine />
            <MenuItem className="risk" onSelect={() => onOpen({ is: "end" })}>
              {words("session.end")}
            </MenuItem>
          </>
        )}
      </Menu>
    </>
  );
}
