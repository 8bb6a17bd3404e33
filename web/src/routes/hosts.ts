// /hosts: the machines of the organization.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

export const hostsRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/hosts",
  component: lazyRouteComponent(() => import("../features/instances/index.ts"), "HostsPage"),
});
