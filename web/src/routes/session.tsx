// /sessions/:sessionId: one session.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

const SessionPage = lazyRouteComponent(
  () => import("../features/sessions/index.ts"),
  "SessionPage",
);

export const sessionRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/sessions/$sessionId",
  component: function Session() {
    const { sessionId } = sessionRoute.useParams();
    return <SessionPage key={sessionId} sessionId={sessionId} />;
  },
});
