// /invite#SECRET: an invitation.
import { createRoute, useRouter } from "@tanstack/react-router";
import { InvitePage } from "../features/access/index.ts";
import { rootRoute } from "./root.tsx";
import { useFragment } from "./use-fragment.ts";

export const inviteRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/invite",
  component: function Invite() {
    const router = useRouter();
    const invitation = useFragment();
    return (
      <InvitePage
        key={invitation}
        invitation={invitation}
        onAccepted={() => void router.navigate({ to: "/", replace: true })}
      />
    );
  },
});
