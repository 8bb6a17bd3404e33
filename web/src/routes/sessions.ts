// /sessions: all sessions of the organization.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

export const sessionsRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/sessions",
  component: lazyRouteComponent(() => import("../features/sessions/index.ts"), "SessionsPage"),
});
