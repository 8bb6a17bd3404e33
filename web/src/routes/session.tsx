// /sessions/:sessionId: one session, and below it the review of its changes. ?panel= names what is beside the
// conversation, ?entry= leads to an entry of the log, ?find= is what is looked for in it, and ?line= names lines of a
// changed file to which the review leads, such as "src/a.ts:3-5 (new)".
import { createRoute, lazyRouteComponent, useMatch } from "@tanstack/react-router";
import { loadSessionPage } from "../features/sessions/index.ts";
import { insideRoute } from "./inside.tsx";
import { numberOf, textOf } from "./search.ts";
import { withPage } from "./with-page.ts";

const SessionPage = lazyRouteComponent(loadSessionPage, "SessionPage");

export const sessionRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/sessions/$sessionId",
  validateSearch: (search: Record<string, unknown>) => ({
    ...numberOf(search, "entry"),
    ...textOf(search, "find"),
    ...textOf(search, "panel"),
    ...textOf(search, "line"),
  }),
  component: withPage(SessionPage, function Session() {
    const { sessionId } = sessionRoute.useParams();
    const { entry, find } = sessionRoute.useSearch();
    const isReview = useMatch({ from: reviewRoute.id, shouldThrow: false }) !== undefined;
    const navigate = sessionRoute.useNavigate();
    const change = (to: { entry?: undefined; find?: string | undefined }) =>
      void navigate({ search: (before) => ({ ...before, ...to }), replace: true });
    return (
      <SessionPage
        key={sessionId}
        sessionId={sessionId}
        isReview={isReview}
        entry={entry}
        onEntry={() => change({ entry: undefined })}
        find={find}
        onFind={(text) => change({ find: text })}
      />
    );
  }),
});

/** Draws nothing of its own: the page stays, and so does what is typed in it. */
export const reviewRoute = createRoute({ getParentRoute: () => sessionRoute, path: "/review" });
