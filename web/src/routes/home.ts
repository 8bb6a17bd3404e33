// /: leads to where work is.
import { createRoute, redirect } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

export const homeRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/hosts", replace: true });
  },
});
