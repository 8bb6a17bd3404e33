// What other folders may use of the keyboard.
export { acts, areas, type ActId } from "./acts.ts";
export { isField, isMac, keyboard, listenToKeys, singleKeys } from "./browser.ts";
export { Keys } from "./key.tsx";
export { workingKeys } from "./keyboard.ts";
export { useAct, useActs, useHasSingleKeys } from "./use-act.ts";
export { listMark, useListKeys } from "./use-list-keys.ts";
