// Many viewers of event streams in one process. They only read and count frames, so that the server is
// measured and not the viewers.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nodeEnvironment } from "./node-environment.ts";
import { openOrders } from "./orders.ts";
import { stopProcess } from "./stop-process.ts";

export interface ViewerOrders {
  open: { streams: Stream[] };
  frames: { name: string; count: number; patienceMs: number };
  counts: object;
  delays: object;
  close: object;
}

export interface Stream {
  url: string;
  key: string;
}

export interface Viewers extends AsyncDisposable {
  /** Opens these streams at once, and resolves when all were answered 200. */
  open(streams: Stream[]): Promise<void>;
  /** Resolves when this many more frames of this name have arrived since the last call. */
  frames(order: ViewerOrders["frames"]): Promise<void>;
  /** How many frames of each name have arrived so far. */
  counts(): Promise<Record<string, number>>;
  /** Delays in ms of the entries so far, sorted; the text of each entry contains the time of writing. */
  delays(): Promise<number[]>;
  /** Closes all streams. */
  close(): Promise<void>;
}

const program = fileURLToPath(import.meta.resolve("./viewers-process.ts"));

/** Counts frames with these names. */
export function startViewers(names: readonly string[] = ["live", "entry"]): Viewers {
  const child = fork(program, names, { env: nodeEnvironment() });
  const { tell } = openOrders(child);
  return {
    open: (streams) => tell("open", { streams }),
    frames: (order) => tell("frames", order),
    counts: () => tell("counts"),
    delays: () => tell("delays"),
    close: () => tell("close"),
    [Symbol.asyncDispose]: () => stopProcess(child),
  };
}

export const sessionStream = (baseUrl: string, sessionId: string, after = 0) =>
  `${baseUrl}/api/sessions/${sessionId}/events?after=${after}`;

export const organizationStream = (baseUrl: string) => `${baseUrl}/api/events`;
