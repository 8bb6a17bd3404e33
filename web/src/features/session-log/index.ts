// What other folders may use of session logs.
export { isEditable, placeBeside, waitingRows } from "./queue.ts";
export type { Queue, WaitingRow, WaitingRows } from "./queue.ts";
export { useSessionLog } from "./logs.ts";
export { PromptAuthor } from "./prompt-author.ts";
export { PromptActs, type ChosenPrompt } from "./prompt-acts.ts";
export { PutBack } from "./put-back.ts";
export type { QueueEntry, RunningTurn } from "./row.ts";
export type { DrawnRow } from "./drawn-row.ts";
export type { LogSnapshot, SessionLog } from "./store.ts";
export { linesOf, type Line } from "./terminal-lines.ts";
export { Transcript, type Target, type TranscriptHandle } from "./transcript.tsx";

/** Marks a text in the transcript. Loaded when somebody looks for one. */
export const loadMarks = async () => (await import("./mark-matches.ts")).markMatches;
export { loadClosing } from "./markdown-blocks.ts";
export type { Marks } from "./mark-matches.ts";
