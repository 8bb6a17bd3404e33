// /hosts: the machines of the organization.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadHostsPage } from "../features/instances/index.ts";
import { insideRoute } from "./inside.tsx";

export const hostsRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/hosts",
  component: lazyRouteComponent(loadHostsPage, "HostsPage"),
});
