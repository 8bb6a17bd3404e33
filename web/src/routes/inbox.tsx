// /inbox, and /inbox/:requestId with one request open.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadInboxPage } from "../features/requests/index.ts";
import { insideRoute } from "./inside.tsx";
import { withPage } from "./with-page.ts";

const InboxPage = lazyRouteComponent(loadInboxPage, "InboxPage");

export const inboxRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/inbox",
  component: withPage(InboxPage, () => <InboxPage requestId={undefined} />),
});

export const inboxRequestRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/inbox/$requestId",
  component: withPage(InboxPage, function InboxRequest() {
    const { requestId } = inboxRequestRoute.useParams();
    return <InboxPage requestId={requestId} />;
  }),
});
