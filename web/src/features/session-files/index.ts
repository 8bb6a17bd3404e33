// What other folders may use of the files of sessions.
import "../../design/review.css";

export { ChangesTab } from "./changes-tab.tsx";
export { ReviewPage } from "./review-page.tsx";
export { forgetReviews } from "./review-store.ts";
