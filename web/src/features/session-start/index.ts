// What routes use of starting sessions.
export { NewPage, StartPage } from "./start-pages.tsx";
