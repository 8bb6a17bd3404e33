// /first#SECRET: the link with which an owner signs in for the first time.
import { createRoute, useRouter } from "@tanstack/react-router";
import { FirstPage } from "../features/access/index.ts";
import { rootRoute } from "./root.tsx";
import { useFragment } from "./use-fragment.ts";

export const firstRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/first",
  component: function First() {
    const router = useRouter();
    const link = useFragment();
    return (
      <FirstPage
        key={link}
        link={link}
        onEntered={() => void router.navigate({ to: "/", replace: true })}
      />
    );
  },
});
