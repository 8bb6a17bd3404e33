// What other folders may use of sessions. The page of all sessions is loaded when it is shown.
import { part } from "../../design/part.tsx";

export { SessionList } from "./session-list.tsx";
export { SessionPage } from "./session-page.tsx";
export { markOf, titleOf } from "./words.ts";

export const SessionsPage = part(async () => (await import("./sessions-page.tsx")).SessionsPage);

/** The sessions of one host, which the page of a host loads for itself. */
export const loadSessionsOnHost = () => import("./sessions-on-host.tsx");
