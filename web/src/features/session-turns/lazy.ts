// Parts of the composer that are not needed to write and send.
import { lazy } from "react";

const pickers = () => import("./pickers.tsx");

export const CommandList = lazy(async () => ({
  default: (await import("./command-list.tsx")).CommandList,
}));
export const FileChips = lazy(async () => ({
  default: (await import("./file-chips.tsx")).FileChips,
}));
export const Pickers = lazy(async () => ({ default: (await pickers()).Pickers }));
export const Picker = lazy(async () => ({ default: (await pickers()).Picker }));
export const FileButton = lazy(async () => ({ default: (await pickers()).FileButton }));
export const ModePicker = lazy(async () => ({ default: (await pickers()).ModePicker }));
export const ModelPicker = lazy(async () => ({ default: (await pickers()).ModelPicker }));
export const OptionsPicker = lazy(async () => ({ default: (await pickers()).OptionsPicker }));
