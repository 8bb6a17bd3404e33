// /inbox, and /inbox/:requestId with one request open.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { insideRoute } from "./inside.tsx";

const InboxPage = lazyRouteComponent(() => import("../features/requests/index.ts"), "InboxPage");

export const inboxRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/inbox",
  component: () => <InboxPage requestId={undefined} />,
});

export const inboxRequestRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/inbox/$requestId",
  component: function InboxRequest() {
    const { requestId } = inboxRequestRoute.useParams();
    return <InboxPage requestId={requestId} />;
  },
});
