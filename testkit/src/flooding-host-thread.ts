// The thread of flooding-host.ts.
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { nkeyFromSeed } from "@hawser/host-protocol";
import { dialRaw } from "./deaf-host.ts";
import type { FloodOrder } from "./flooding-host.ts";

const { baseUrl, seed, token, text, atOnce, forMs } = workerData as FloodOrder;
const together = 500;
const chunk = text.repeat(together);
const mostUnsent = 1024 * 1024;

const link = await dialRaw(baseUrl, nkeyFromSeed(seed), token);
const started = once(parentPort!, "message");
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort!.postMessage("ready");
await started;
const end = performance.now() + forMs;
let sent = 0;
while (performance.now() < end) {
  if (sent >= atOnce && link.unsentBytes() > mostUnsent) {
    await pause(5);
    continue;
  }
  link.say(chunk);
  sent += together;
  await pause(0);
}
link.close();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort!.postMessage(sent);
