// What other folders may use of sessions.
export { SessionPage } from "./session-page.tsx";
export { SessionsPage } from "./sessions-page.tsx";

/** The sessions of one host, which the page of a host loads for itself. */
export const loadSessionsOnHost = () => import("./sessions-on-host.tsx");
