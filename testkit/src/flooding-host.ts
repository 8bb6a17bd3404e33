// A host that sends as fast as its link accepts, in a thread of its own, so that the test that measures
// the others is not slowed by it.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { DeafHost } from "./deaf-host.ts";

export interface FloodOrder {
  baseUrl: string;
  seed: string;
  token: string;
  /** Protocol text that is sent again and again. */
  text: string;
  /** How often it is sent in the first moment, before the link's speed is respected. */
  atOnce: number;
  forMs: number;
}

/** Opens a second link of the host. The returned function floods it, and resolves to how often it sent the text. */
export async function prepareFlood(
  { key, token }: DeafHost,
  order: Omit<FloodOrder, "seed" | "token">,
): Promise<() => Promise<number>> {
  const workerData: FloodOrder = { ...order, seed: key.seed, token };
  const worker = new Worker(new URL("./flooding-host-thread.ts", import.meta.url), { workerData });
  await once(worker, "message");
  return async () => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage("start");
    const [sent] = (await once(worker, "message")) as [number];
    return sent;
  };
}
