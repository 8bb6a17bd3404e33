// What routes use of starting sessions.
export const loadStartPages = () => import("./start-pages.tsx");
