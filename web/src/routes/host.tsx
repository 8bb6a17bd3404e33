// /hosts/:instanceId: one host.
import { createRoute, lazyRouteComponent, useRouter } from "@tanstack/react-router";
import { loadHostPage } from "../features/instances/index.ts";
import { insideRoute } from "./inside.tsx";
import { withPage } from "./with-page.ts";

const HostPage = lazyRouteComponent(loadHostPage, "HostPage");

export const hostRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/hosts/$instanceId",
  component: withPage(HostPage, function Host() {
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
  }),
});
