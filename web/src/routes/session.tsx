// /sessions/:sessionId: one session, and below it the review of its changes. ?panel= names what is beside the conversation.
import { createRoute, lazyRouteComponent, useMatch } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

const SessionPage = lazyRouteComponent(
  () => import("../features/sessions/index.ts"),
  "SessionPage",
);

export const sessionRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/sessions/$sessionId",
  validateSearch: ({ panel }: Record<string, unknown>): { panel?: string | undefined } =>
    typeof panel === "string" ? { panel } : {},
  component: function Session() {
    const { sessionId } = sessionRoute.useParams();
    const isReview = useMatch({ from: reviewRoute.id, shouldThrow: false }) !== undefined;
    return <SessionPage key={sessionId} sessionId={sessionId} isReview={isReview} />;
  },
});

/** Draws nothing of its own: the page stays, and so does what is typed in it. */
export const reviewRoute = createRoute({ getParentRoute: () => sessionRoute, path: "/review" });
