// /: leads to where work is.
import { createRoute, redirect } from "@tanstack/react-router";
import { firstPlace } from "./first-place.ts";
import { insideRoute } from "./inside.tsx";

export const homeRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/",
  beforeLoad: async ({ context: { organizationId } }) => {
    // The person chooses an organization first.
    if (organizationId === undefined) return;
    throw redirect({ ...(await firstPlace()), replace: true });
  },
});
