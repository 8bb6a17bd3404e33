// What other folders may use of turns.
export { Composer, type ComposerHandle } from "./composer.tsx";
export { useDrop } from "./composer-hooks.ts";
export { sends } from "./composer-keys.ts";
export { attachPasted } from "./paste.ts";
export {
  FileButton,
  FileChips,
  ModelPicker,
  ModePicker,
  OptionsPicker,
  Picker,
  turnParts,
} from "./lazy.ts";
export { useDraft } from "./use-draft.ts";
export { isUploading } from "./use-files.ts";
export { forgetPrompts, promptsOf, type Prompts } from "./prompts.ts";
export { WaitingPrompts } from "./waiting-prompts.tsx";
