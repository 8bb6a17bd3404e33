// What other folders may use of drafts. Lists of sessions mark those that have one, so this is loaded with every page,
// and apart from the composer.
export { drafts } from "./on-device.ts";
export type { Choices, Drafts, Extras, SendingPrompt, SentFile } from "./on-device.ts";
export { useDrafts } from "./use-drafts.ts";
