// /start: the first page of an organization, until it has a session.
import { createRoute, lazyRouteComponent, redirect, useRouter } from "@tanstack/react-router";
import { firstPlace } from "./first-place.ts";
import { insideRoute } from "./inside.tsx";

const StartPage = lazyRouteComponent(
  () => import("../features/session-start/index.ts"),
  "StartPage",
);

export const startRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/start",
  beforeLoad: async ({ context: { organizationId } }) => {
    if (organizationId === undefined) return;
    const place = await firstPlace();
    if (place.to !== "/start") throw redirect({ ...place, replace: true });
  },
  component: function Start() {
    const router = useRouter();
    return (
      <StartPage
        onStarted={(sessionId) =>
          void router.navigate({ to: "/sessions/$sessionId", params: { sessionId } })
        }
      />
    );
  },
});
