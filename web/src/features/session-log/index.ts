// What other folders may use of session logs.
export { isEditable, placeBeside, waitingRows } from "./queue.ts";
export type { Queue, WaitingRow, WaitingRows } from "./queue.ts";
export { useSessionLog } from "./logs.ts";
export { PromptAuthor } from "./prompt-author.ts";
export { PromptActs, type ChosenPrompt } from "./prompt-acts.ts";
export { PutBack } from "./put-back.ts";
export type { QueueEntry, RunningTurn } from "./row.ts";
export type { DrawnRow } from "./drawn-row.ts";
export type { LogSnapshot } from "./store.ts";
export { Transcript } from "./transcript.tsx";
