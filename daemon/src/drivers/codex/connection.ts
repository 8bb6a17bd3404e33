// One JSON object per line, both ways, with a codex app-server: our calls, its notifications, and what
// it asks of us. Knows nothing of what the messages mean.
import type { Readable, Writable } from "node:stream";

export interface Connection {
  /** Rejects with CallRefused, CallLate, or with ConnectionEnded. */
  call(method: string, params: unknown, deadlineMs: number): Promise<unknown>;
  notify(method: string): void;
  /** Answers what it asked; false when it cannot be told any more. */
  answer: (id: RequestId, result: unknown) => boolean;
  refuse: (id: RequestId, message: string) => void;
  /** Whatever waits is rejected. */
  end(reason: string): void;
}

export type RequestId = number | string;

export interface Listener {
  onNotification(method: string, params: Record<string, unknown>): void;
  onRequest(id: RequestId, method: string, params: Record<string, unknown>): void;
}

/** Codex said no. */
export class CallRefused extends Error {}
/** Codex did not answer in time. Whether it did what was asked is not known. */
export class CallLate extends Error {}
/** Its process is gone. */
class ConnectionEnded extends Error {}

interface Incoming {
  id?: RequestId;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { message?: string };
}

/** An unknown method is answered with a list of all of them. */
const longestMessage = 500;

export function openConnection(input: Writable, output: Readable, listener: Listener): Connection {
  const waiting = new Map<RequestId, PromiseWithResolvers<unknown>>();
  let ended: string | undefined;
  let lastId = 0;

  const send = (message: object): boolean => {
    if (ended !== undefined || !input.writable) return false;
    input.write(`${JSON.stringify(message)}\n`);
    return true;
  };

  const take = (line: string) => {
    let message: Incoming;
    try {
      message = JSON.parse(line) as Incoming;
    } catch {
      // Not ours to read, such as a line of a program it runs.
      return;
    }
    const { id, method, params = {} } = message;
    if (method !== undefined) {
      if (id === undefined) listener.onNotification(method, params);
      else listener.onRequest(id, method, params);
      return;
    }
    if (id === undefined) return;
    const call = waiting.get(id);
    waiting.delete(id);
    if (!message.error) call?.resolve(message.result);
    else call?.reject(new CallRefused((message.error.message ?? "").slice(0, longestMessage)));
  };

  readLines(output, take);
  // A pipe that breaks is seen as the end of the process.
  input.on("error", () => {});

  return {
    async call(method, params, deadlineMs) {
      if (ended !== undefined) throw new ConnectionEnded(ended);
      const id = ++lastId;
      const answer = Promise.withResolvers<unknown>();
      waiting.set(id, answer);
      const timer = setTimeout(() => {
        waiting.delete(id);
        answer.reject(new CallLate(`Codex did not answer ${method} within ${deadlineMs} ms.`));
      }, deadlineMs);
      send({ id, method, params });
      try {
        return await answer.promise;
      } finally {
        clearTimeout(timer);
      }
    },
    notify: (method) => void send({ method }),
    answer: (id, result) => send({ id, result }),
    refuse: (id, message) => void send({ id, error: { code: -32601, message } }),
    end(reason) {
      if (ended !== undefined) return;
      ended = reason;
      for (const call of waiting.values()) call.reject(new ConnectionEnded(reason));
      waiting.clear();
    },
  };
}

function readLines(output: Readable, take: (line: string) => void): void {
  let pieces: string[] = [];
  output.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = chunk.split("\n");
    if (lines.length === 1) {
      pieces.push(chunk);
      return;
    }
    const [first, ...rest] = lines as [string, ...string[]];
    const last = rest.pop()!;
    take(pieces.join("") + first);
    for (const line of rest) take(line);
    pieces = last === "" ? [] : [last];
  });
}
