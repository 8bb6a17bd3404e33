// What other folders may use of the files of sessions.
export { ChangesTab } from "./changes-tab.tsx";
export { ReviewPage } from "./review-page.tsx";
