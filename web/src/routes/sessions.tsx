// /sessions: all sessions of the organization. What the list is limited to stands in the address.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadSessionsPage } from "../features/sessions/index.ts";
import { insideRoute } from "./inside.tsx";
import { textOf } from "./search.ts";
import { withPage } from "./with-page.ts";

const SessionsPage = lazyRouteComponent(loadSessionsPage, "SessionsPage");

export const sessionsRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/sessions",
  validateSearch: (search: Record<string, unknown>) => ({
    ...textOf(search, "host"),
    ...textOf(search, "person"),
    ...textOf(search, "kind"),
    ...textOf(search, "text"),
  }),
  component: withPage(SessionsPage, function Sessions() {
    const limits = sessionsRoute.useSearch();
    const navigate = sessionsRoute.useNavigate();
    return (
      <SessionsPage
        limits={limits}
        onLimit={(change) =>
          void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
        }
      />
    );
  }),
});
