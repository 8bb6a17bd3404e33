// What other folders may use of turns.
export { Composer, type ComposerHandle } from "./composer.tsx";
export { drafts } from "./on-device.ts";
export { forgetPrompts, promptsOf, type Prompts } from "./prompts.ts";
export { WaitingPrompts } from "./waiting-prompts.tsx";
