// One daemon process of a supervisor: its reports, the orders to it, and its end.
import { spawn } from "node:child_process";
import type { Order, Report } from "./words.ts";
import type { Program } from "./versions.ts";

export interface Child {
  version: string;
  pid: number | undefined;
  order: (order: Order) => void;
  /** Resolves when the daemon reports this word; rejects with a sentence if it ends before, or stays silent. */
  waitFor: (word: Report["say"], patienceMs: number) => Promise<void>;
  /** Resolves with the exit code when the daemon has ended; with 1 after a signal or a failed start. */
  ended: Promise<number>;
  hasEnded: () => boolean;
  kill: (signal: NodeJS.Signals) => void;
}

export function startChild(
  program: Program,
  args: readonly string[],
  onReport: (report: Report) => void,
): Child {
  const child = spawn(program.node, [...program.script, "serve", ...args], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const listeners = new Set<(report: Report) => void>([onReport]);
  let how: string | undefined;
  const ended = new Promise<number>((resolve) => {
    child.once("exit", (code, signal) => {
      how ??= signal ? `was ended by ${signal}` : `ended with code ${code}`;
      resolve(code ?? 1);
    });
    child.once("error", (error) => {
      how ??= `could not be started (${error.message})`;
      resolve(1);
    });
  });
  child.on("message", (message) => {
    for (const listen of listeners) listen(message as Report);
  });
  return {
    version: program.version,
    pid: child.pid,
    order(order) {
      // Sending to an ended process fails; `ended` reports its end.
      if (child.connected) child.send(order, () => {});
    },
    waitFor(word, patienceMs) {
      const heard = Promise.withResolvers<void>();
      const listen = ({ say }: Report) => {
        if (say === word) heard.resolve();
      };
      listeners.add(listen);
      const seconds = Math.round(patienceMs / 1000);
      const late = setTimeout(
        () => heard.reject(new Error(`it did not say "${word}" within ${seconds} s`)),
        patienceMs,
      );
      void ended.then(() => heard.reject(new Error(`it ${how} before it said "${word}"`)));
      return heard.promise.finally(() => {
        clearTimeout(late);
        listeners.delete(listen);
      });
    },
    ended,
    hasEnded: () => how !== undefined,
    kill: (signal) => void child.kill(signal),
  };
}
