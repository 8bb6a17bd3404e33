// /new: starts a session. `instance` names the host that is chosen.
import { createRoute, lazyRouteComponent, useRouter } from "@tanstack/react-router";
import { loadStartPages } from "../features/session-start/index.ts";
import { insideRoute } from "./inside.tsx";
import { withPage } from "./with-page.ts";

const NewPage = lazyRouteComponent(loadStartPages, "NewPage");

export const newRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/new",
  validateSearch: ({ instance }: Record<string, unknown>): { instance?: string | undefined } => ({
    instance: typeof instance === "string" && /^\w{1,60}$/.test(instance) ? instance : undefined,
  }),
  component: withPage(NewPage, function New() {
    const router = useRouter();
    const { instance } = newRoute.useSearch();
    return (
      <NewPage
        key={instance}
        wantedHost={instance}
        onStarted={(sessionId) =>
          void router.navigate({ to: "/sessions/$sessionId", params: { sessionId } })
        }
      />
    );
  }),
});
