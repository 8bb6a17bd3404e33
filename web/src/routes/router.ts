// All addresses of the dashboard.
import { createRouter } from "@tanstack/react-router";
import { deviceRoute } from "./device.tsx";
import { firstRoute } from "./first.tsx";
import { homeRoute } from "./home.ts";
import { hostRoute } from "./host.tsx";
import { hostsRoute } from "./hosts.ts";
import { inboxRequestRoute, inboxRoute } from "./inbox.tsx";
import { insideRoute } from "./inside.tsx";
import { inviteRoute } from "./invite.tsx";
import { newRoute } from "./new.tsx";
import { phoneRoute } from "./phone.tsx";
import { renewedRoute } from "./renewed.tsx";
import { rootRoute } from "./root.tsx";
import { reviewRoute, sessionRoute } from "./session.tsx";
import { sessionsRoute } from "./sessions.tsx";
import { signInRoute } from "./sign-in.tsx";
import { startRoute } from "./start.tsx";

const routeTree = rootRoute.addChildren([
  signInRoute,
  renewedRoute,
  inviteRoute,
  firstRoute,
  phoneRoute,
  deviceRoute,
  insideRoute.addChildren([
    homeRoute,
    startRoute,
    newRoute,
    inboxRoute,
    inboxRequestRoute,
    sessionsRoute,
    sessionRoute.addChildren([reviewRoute]),
    hostsRoute,
    hostRoute,
  ]),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
