// What other folders may use of requests.
export { InboxPage } from "./inbox-page.tsx";
export { isField } from "./card-keys.ts";
export { RequestCard, type Where } from "./request-card.tsx";
export { useCards, type Cards } from "./use-cards.ts";
