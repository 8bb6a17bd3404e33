// What other folders may use of requests. The page and the card are loaded when they are shown.
import { part } from "../../design/part.tsx";

export type { Where } from "./request-card.tsx";
export { useCards, type Cards } from "./use-cards.ts";
export { Visible } from "./visible.tsx";

export const InboxPage = part(async () => (await import("./inbox-page.tsx")).InboxPage);
export const RequestCard = part(async () => (await import("./request-card.tsx")).RequestCard);
