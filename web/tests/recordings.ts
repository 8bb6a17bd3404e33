// For tests: the recorded streams of real sessions, one of each kind of agent.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Entry } from "../src/features/session-log/row.ts";
import type { LivePiece } from "../src/streams/live-text.ts";

export interface Recording {
  kind: string;
  frames: ({ event: "entry"; data: Entry } | { event: "live"; data: LivePiece })[];
  entries: Entry[];
}

const folder = join(import.meta.dirname, "../src/features/session-log/recordings");

export const recordings: Recording[] = ["opencode", "claude_code", "codex"].map((kind) => {
  const lines = readFileSync(join(folder, `${kind}.jsonl`), "utf8")
    .trimEnd()
    .split("\n");
  const frames = lines
    .map((line) => JSON.parse(line) as Recording["frames"][number])
    .filter(({ event }) => event === "entry" || event === "live");
  const entries = frames.flatMap((frame) => (frame.event === "entry" ? [frame.data] : []));
  return { kind, frames, entries };
});
