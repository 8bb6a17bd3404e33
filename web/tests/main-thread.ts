// For measurements: what the main thread of a page does, from Chromium's own trace. Besides the time on the clock it has
// the processor time of each task, which a busy machine does not make longer.
import type { BrowserPage } from "@hawser/testkit/browser.ts";

export interface Task {
  /** In milliseconds since some point of the trace. */
  at: number;
  /** On the clock. */
  tookMs: number;
  cpuMs: number;
}

export interface Traced {
  tasks: Task[];
  /** When each key went down, on the clock of the tasks. */
  keysAt: number[];
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string; data?: { type?: string } };
}

/** Runs something, and returns what the main thread of the page did meanwhile. */
export async function traced(page: BrowserPage["page"], run: () => Promise<void>): Promise<Traced> {
  const client = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  client.on("Tracing.dataCollected", ({ value }) => {
    for (const each of value) events.push(each as unknown as TraceEvent);
  });
  const includedCategories = ["toplevel", "devtools.timeline"];
  await client.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { recordMode: "recordAsMuchAsPossible", includedCategories },
  });
  await run();
  const complete = new Promise((resolve) => client.once("Tracing.tracingComplete", resolve));
  await client.send("Tracing.end");
  await complete;
  await client.detach();
  const isMain = (thread: TraceEvent) => thread.name === "thread_name" && thread.ph === "M";
  const mains = new Set(
    events
      .filter((each) => isMain(each) && each.args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const own = events.filter(({ pid, tid }) => mains.has(`${pid} ${tid}`));
  const tasks = own
    .filter(({ name, ph }) => ph === "X" && name.endsWith("RunTask"))
    .map(({ ts, dur = 0, tdur = 0 }) => ({
      at: ts / 1_000,
      tookMs: dur / 1_000,
      cpuMs: tdur / 1_000,
    }))
    .sort((a, b) => a.at - b.at);
  if (tasks.length === 0) throw new Error("The trace has no task of the page.");
  const keysAt = own
    .filter(({ name, args }) => name === "EventDispatch" && args?.data?.type === "keydown")
    .map(({ ts }) => ts / 1_000)
    .sort((a, b) => a - b);
  return { tasks, keysAt };
}

export const longest = (all: readonly number[]): number => all.reduce((a, b) => Math.max(a, b), 0);

export function percentile(all: readonly number[], part: number): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] ?? 0;
}
