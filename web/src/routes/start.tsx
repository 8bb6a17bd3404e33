// /start: the first page of an organization, until it has a session.
import { createRoute, lazyRouteComponent, redirect, useRouter } from "@tanstack/react-router";
import { loadStartPages } from "../features/session-start/index.ts";
import { firstPlace } from "./first-place.ts";
import { insideRoute } from "./inside.tsx";
import { withPage } from "./with-page.ts";

const StartPage = lazyRouteComponent(loadStartPages, "StartPage");

export const startRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/start",
  beforeLoad: async ({ context: { organizationId } }) => {
    if (organizationId === undefined) return;
    const place = await firstPlace();
    if (place.to !== "/start") throw redirect({ ...place, replace: true });
  },
  component: withPage(StartPage, function Start() {
    const router = useRouter();
    return (
      <StartPage
        onStarted={(sessionId) =>
          void router.navigate({ to: "/sessions/$sessionId", params: { sessionId } })
        }
      />
    );
  }),
});
