// /phone#SECRET: the page of a phone that a person lets in.
import { createRoute, useRouter } from "@tanstack/react-router";
import { PhonePage } from "../features/access/index.ts";
import { rootRoute } from "./root.tsx";
import { useFragment } from "./use-fragment.ts";

export const phoneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/phone",
  component: function Phone() {
    const router = useRouter();
    const link = useFragment();
    return (
      <PhonePage
        key={link}
        link={link}
        onEntered={() => void router.navigate({ to: "/", replace: true })}
      />
    );
  },
});
