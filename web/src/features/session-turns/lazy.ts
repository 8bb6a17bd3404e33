// Parts of the composer that are not needed to write and send.
import { lazy } from "react";
import { idle } from "../../design/idle.ts";

const pickers = () => import("./pickers.tsx");
const commandList = () => import("./command-list.tsx");
const fileChips = () => import("./file-chips.tsx");
const waitingList = () => import("./waiting-list.tsx");

/** What a person may need next. */
export const turnParts = [commandList, waitingList, fileChips, () => import("./attachments.ts")];

export const CommandList = lazy(async () => ({ default: (await commandList()).CommandList }));
export const FileChips = lazy(async () => ({ default: (await fileChips()).FileChips }));
export const WaitingList = lazy(async () => ({ default: (await waitingList()).WaitingList }));
/** Below the field of a session, which is shown first. */
export const Pickers = lazy(async () => {
  await idle();
  return { default: (await pickers()).Pickers };
});
export const Picker = lazy(async () => ({ default: (await pickers()).Picker }));
export const FileButton = lazy(async () => ({ default: (await pickers()).FileButton }));
export const ModePicker = lazy(async () => ({ default: (await pickers()).ModePicker }));
export const ModelPicker = lazy(async () => ({ default: (await pickers()).ModelPicker }));
export const OptionsPicker = lazy(async () => ({ default: (await pickers()).OptionsPicker }));
export const ContextMeter = lazy(async () => ({
  default: (await import("./context-meter.tsx")).ContextMeter,
}));
