// What other folders may use of sessions. Routes load the pages.
export { SessionList } from "./session-list.tsx";
export { markOf, titleOf } from "./words.ts";

export const loadSessionPage = () => import("./session-page.tsx");
export const loadSessionsPage = () => import("./sessions-page.tsx");

/** Sessions to be read, which the inbox loads for itself. */
export const loadFinishedSessions = () => import("./finished-sessions.tsx");

/** The sessions of one host, which the page of a host loads for itself. */
export const loadSessionsOnHost = () => import("./sessions-on-host.tsx");

/** A line of the list of kept files, which the page of a host loads for itself. */
export const loadKeptLine = () => import("./kept-line.tsx");
