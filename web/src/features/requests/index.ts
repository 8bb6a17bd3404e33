// What other folders may use of requests. The card is loaded when it is shown.
import { part } from "../../design/part.tsx";

export { useCards } from "./use-cards.ts";
export { Visible } from "./visible.tsx";

/** The page of requests, which its route loads. */
export const loadInboxPage = () => import("./inbox-page.tsx");
export const loadRequestCard = () => import("./request-card.tsx");
export const RequestCard = part(async () => (await loadRequestCard()).RequestCard);
