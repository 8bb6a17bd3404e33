// The conversation and the panel beside it. Where there is no room for two columns, and in the review, one of them is
// shown; the conversation then keeps its place out of sight.
import type { Session } from "@hawser/client";
import { Maximize2 } from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { idle } from "../../design/idle.ts";
import { Skeleton } from "../../design/skeleton.tsx";
import { panelProps, TabList } from "../../design/tabs.tsx";
import { words } from "../../words/words.ts";
import type { LogSnapshot } from "../session-log/index.ts";
import type { ViewName } from "./panels.ts";
import { usePanels } from "./use-panels.ts";

// The conversation is shown first.
const ChangesTab = lazy(async () => {
  await idle();
  return { default: (await import("../session-files/index.ts")).ChangesTab };
});
const ReviewPage = lazy(() =>
  import("../session-files/index.ts").then((files) => ({ default: files.ReviewPage })),
);
const TerminalTab = lazy(async () => {
  await idle();
  return { default: (await import("./terminal-tab.tsx")).TerminalTab };
});
const DetailsTab = lazy(async () => {
  await idle();
  return { default: (await import("./details-tab.tsx")).DetailsTab };
});

export interface PanelProps {
  session: Session;
  snapshot: LogSnapshot;
}

export function SessionColumns({
  session,
  snapshot,
  isReview,
  children,
}: PanelProps & { isReview: boolean; children: ReactNode }): ReactNode {
  const { tabs, value, isNarrow, show, toggleReview } = usePanels(session, isReview);
  const count = useChangeCount(session);
  const list = (
    <TabList
      label={words("panel.views")}
      tabs={tabs.map((name) => ({
        name,
        label: words(`panel.${name}`),
        count: name === "changes" ? count : undefined,
      }))}
      value={value}
      onChoose={show}
    />
  );
  const isTalkShown = value === "talk" || (!isNarrow && !isReview);
  const panel = { session, snapshot };
  return (
    <>
      {isNarrow && <div className="view-tabs">{list}</div>}
      <div className={isNarrow ? "cols single" : "cols beside"}>
        <section
          className={isTalkShown ? "talk" : "talk away"}
          {...(isNarrow ? panelProps("talk") : { "aria-label": words("session.talk") })}
        >
          {children}
        </section>
        {isReview ? (
          <section
            className="panel whole"
            {...(isNarrow ? panelProps("changes") : { "aria-label": words("review.title") })}
          >
            <Suspense fallback={<Skeleton lines={4} />}>
              <ReviewPage {...panel} onClose={isNarrow ? undefined : toggleReview} />
            </Suspense>
          </section>
        ) : (
          value !== "talk" && (
            <aside className="panel" aria-label={words("panel.title")}>
              {!isNarrow && (
                <div className="panel-top">
                  {list}
                  {value === "changes" && (
                    <button
                      type="button"
                      className="btn bare sq push"
                      aria-label={words("review.open")}
                      aria-keyshortcuts="]"
                      onClick={toggleReview}
                    >
                      <Maximize2 className="icon" aria-hidden />
                    </button>
                  )}
                </div>
              )}
              <div className="panel-body" tabIndex={-1} {...panelProps(value)}>
                <Suspense fallback={<Skeleton lines={4} />}>
                  <Panel name={value} {...panel} />
                </Suspense>
              </div>
            </aside>
          )
        )}
      </div>
    </>
  );
}

function Panel({ name, ...props }: PanelProps & { name: Exclude<ViewName, "talk"> }): ReactNode {
  if (name === "changes") return <ChangesTab {...props} />;
  return name === "terminal" ? <TerminalTab {...props} /> : <DetailsTab {...props} />;
}

/** How many files are changed, once it is known. */
function useChangeCount({ sessionId, capabilities }: Session): number | undefined {
  const hasChanges = capabilities.includes("diff");
  const { data } = useRead("get_session_diff", { sessionId }, { enabled: hasChanges });
  return data?.files.length;
}
