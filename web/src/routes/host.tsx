// /hosts/:instanceId: one host.
import { createRoute, lazyRouteComponent, useRouter } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

const HostPage = lazyRouteComponent(() => import("../features/instances/index.ts"), "HostPage");

export const hostRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/hosts/$instanceId",
  component: function Host() {
    const router = useRouter();
    const { instanceId } = hostRoute.useParams();
    return (
      <HostPage
        key={instanceId}
        instanceId={instanceId}
        onGone={() => void router.navigate({ to: "/hosts" })}
        onSession={(sessionId) =>
          void router.navigate({ to: "/sessions/$sessionId", params: { sessionId } })
        }
      />
    );
  },
});
