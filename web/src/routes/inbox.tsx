// /inbox, and /inbox/:requestId with one request open.
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { Suspense } from "react";
import { loadInboxPage } from "../features/requests/index.ts";
import { loadFinishedSessions } from "../features/sessions/index.ts";
import { insideRoute } from "./inside.tsx";
import { withPage } from "./with-page.ts";

const InboxPage = lazyRouteComponent(loadInboxPage, "InboxPage");
const FinishedSessions = lazyRouteComponent(loadFinishedSessions, "FinishedSessions");
/** Whatever becomes of it, requests can be answered. */
const finished = (
  <Suspense>
    <FinishedSessions />
  </Suspense>
);

export const inboxRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/inbox",
  component: withPage(InboxPage, () => <InboxPage requestId={undefined} finished={finished} />),
});

export const inboxRequestRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/inbox/$requestId",
  component: withPage(InboxPage, function InboxRequest() {
    const { requestId } = inboxRequestRoute.useParams();
    return <InboxPage requestId={requestId} finished={finished} />;
  }),
});
