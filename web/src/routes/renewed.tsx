// /signed-in: the window in which a provider has renewed a sign-in, beside the page that asked for it.
import { createRoute } from "@tanstack/react-router";
import { SignedInPage } from "../features/access/index.ts";
import { rootRoute } from "./root.tsx";

export const renewedRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/signed-in",
  validateSearch: ({ error }: Record<string, unknown>): { error?: string | undefined } => ({
    error: typeof error === "string" && /^\w{1,60}$/.test(error) ? error : undefined,
  }),
  component: function Renewed() {
    return <SignedInPage error={renewedRoute.useSearch().error} />;
  },
});
