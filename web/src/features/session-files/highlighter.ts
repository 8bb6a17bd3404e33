// Colours for hunks of patches, made by one worker when a hunk first comes into sight, and kept as long as the patch.
import type { HighlightAnswer, HighlightTask } from "./highlight-worker.ts";
// oxlint-disable-next-line import/default -- Vite makes the address of the built worker
import workerUrl from "./highlight-worker.ts?worker&url";
import type { Hunk, PatchLine, Side } from "./patch.ts";

/** The tokens of one line: length, number of the class, length, number of the class, and so on. */
export type Colours = readonly number[];

/** A hunk that is longer is shown without colours. */
const longestCode = 400_000;

/** The only address that may become a worker of this page: the policy of the page refuses every other text. */
function startWorker(): Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy("hawser-worker", {
    createScriptURL: () => workerUrl,
  });
  return new Worker(policy?.createScriptURL("") ?? workerUrl, { type: "module" });
}

interface TrustedTypes {
  createPolicy: (
    name: string,
    rules: { createScriptURL: (text: string) => string },
  ) => { createScriptURL: (text: string) => string };
}

let worker: Worker | undefined;
let taskCount = 0;
const waiting = new Map<number, (lines: HighlightAnswer["lines"]) => void>();

function ask(path: string, code: string): Promise<HighlightAnswer["lines"]> {
  if (!worker) {
    worker = startWorker();
    worker.addEventListener("message", ({ data }: MessageEvent<HighlightAnswer>) => {
      waiting.get(data.id)?.(data.lines);
      waiting.delete(data.id);
    });
  }
  const id = ++taskCount;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin of its own
  worker.postMessage({ id, path, code } satisfies HighlightTask);
  return new Promise((resolve) => waiting.set(id, resolve));
}

const colours = new WeakMap<PatchLine, Colours>();
const asked = new WeakSet<Hunk>();
const listeners = new Set<() => void>();
let version = 0;

/** Undefined: not known yet, or none. */
export const coloursOf = (line: PatchLine): Colours | undefined => colours.get(line);

/** For `useSyncExternalStore`: a number that grows when lines get their colours. */
export const highlights = {
  get: (): number => version,
  subscribe: (onChange: () => void): (() => void) => {
    listeners.add(onChange);
    return () => listeners.delete(onChange);
  },
};

/** No-op for a hunk that was asked for before. */
export function highlight(path: string, hunk: Hunk): void {
  if (asked.has(hunk)) return;
  asked.add(hunk);
  // Each side is code of its own. A line on both sides is coloured as the new code.
  for (const side of ["old", "new"] as const) void colour(path, linesOn(hunk, side));
}

const linesOn = ({ lines }: Hunk, side: Side) =>
  side === "new" || lines.some((line) => line.new === undefined)
    ? lines.filter((line) => line[side] !== undefined)
    : [];

async function colour(path: string, lines: readonly PatchLine[]): Promise<void> {
  const code = lines.map(({ text }) => text).join("\n");
  if (lines.length === 0 || code.length > longestCode) return;
  const found = await ask(path, code);
  if (!found) return;
  for (const [at, line] of lines.entries()) if (found[at]) colours.set(line, found[at]);
  version += 1;
  for (const listener of listeners) listener();
}
