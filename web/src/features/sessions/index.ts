// What other folders may use of sessions.
export { SessionPage } from "./session-page.tsx";
export { SessionsOnHost } from "./sessions-on-host.tsx";
export { SessionsPage } from "./sessions-page.tsx";
