// Shared by the figures of sessions: the process of viewers.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import type { ViewerOrders } from "./viewers.ts";
import { ask } from "./workers.ts";

export interface Viewers extends AsyncDisposable {
  open(order: ViewerOrders["open"]): Promise<void>;
  frames(order: ViewerOrders["frames"]): Promise<number>;
  delays(): Promise<number[]>;
  close(): Promise<void>;
}

export function startViewers(): Viewers {
  const child = fork(fileURLToPath(new URL("./viewers.ts", import.meta.url)));
  const tell = <Result>(name: keyof ViewerOrders, order: object) =>
    ask<Result>(child, { name, order });
  return {
    open: (order) => tell("open", order),
    frames: (order) => tell("frames", order),
    delays: () => tell("delays", {}),
    close: () => tell("close", {}),
    [Symbol.asyncDispose]: () => stopProcess(child),
  };
}

export const streamOf = (baseUrl: string, sessionId: string, after = 0) =>
  `${baseUrl}/api/sessions/${sessionId}/events?after=${after}`;
