// Orders to a child process over IPC. Each is answered once, or fails if the process ends.
import type { ChildProcess } from "node:child_process";

export interface Orders {
  /** Resolves when the child reports that it is ready. */
  ready: Promise<void>;
  tell: <Result>(name: string, order?: object) => Promise<Result>;
}

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

/** The functions that carry out the orders of a child process, by name. */
type Handlers = Record<string, (order: never) => unknown>;

/** Called by the child: answers its parent's orders until the parent is gone, and reports that it is ready. */
export function serveOrders(handlers: Handlers): void {
  process.on("disconnect", () => process.exit());
  process.on("message", (order: { id: number; name: string; order: never }) => void serve(order));
  async function serve({ id, name, order }: { id: number; name: string; order: never }) {
    try {
      process.send!({ id, result: await handlers[name]!(order) });
    } catch (error) {
      process.send!({ id, error: String((error as Error).stack) });
    }
  }
  process.send!({ id: 0 });
}

/** The child sends `{ id: 0 }` when it is ready, and answers `{ id, name, order }` with `{ id, result }`. */
export function openOrders(child: ChildProcess): Orders {
  const waiting = new Map<number, Waiting>();
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  let count = 0;
  child.on("message", ({ id, result, error }: { id: number; result: never; error?: string }) => {
    if (id === 0) return ready.resolve();
    const order = waiting.get(id);
    waiting.delete(id);
    if (error) order?.reject(new Error(error));
    else order?.resolve(result);
  });
  child.once("exit", (code, signal) => {
    const gone = new Error(`The process ${child.pid} ended (${code ?? signal}).`);
    ready.reject(gone);
    for (const { reject } of waiting.values()) reject(gone);
    waiting.clear();
  });
  return {
    ready: ready.promise,
    tell: <Result>(name: string, order: object = {}) =>
      new Promise<Result>((resolve, reject) => {
        if (!child.connected) return reject(new Error(`The process ${child.pid} is gone.`));
        const id = (count += 1);
        waiting.set(id, { resolve, reject });
        child.send({ id, name, order }, (error) => {
          if (error) reject(error);
        });
      }),
  };
}
