// /new: starts a session. `host` names the host that is chosen.
import { createRoute, lazyRouteComponent, useRouter } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

const NewPage = lazyRouteComponent(() => import("../features/session-start/index.ts"), "NewPage");

export const newRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/new",
  validateSearch: ({ host }: Record<string, unknown>): { host?: string | undefined } => ({
    host: typeof host === "string" && /^\w{1,60}$/.test(host) ? host : undefined,
  }),
  component: function New() {
    const router = useRouter();
    const { host } = newRoute.useSearch();
    return (
      <NewPage
        key={host}
        wantedHost={host}
        onStarted={(sessionId) =>
          void router.navigate({ to: "/sessions/$sessionId", params: { sessionId } })
        }
      />
    );
  },
});
