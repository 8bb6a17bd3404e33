// The connection with a codex app-server: one JSON object per line in both directions. It carries our
// calls, codex's notifications and codex's requests, and does not interpret them.
import type { Readable, Writable } from "node:stream";

export interface Connection {
  /** Rejects with CallRefused, CallLate or ConnectionEnded. */
  call(method: string, params: unknown, deadlineMs: number): Promise<unknown>;
  notify(method: string): void;
  /** Answers a request of codex. Returns false if the connection has ended. */
  answer: (id: RequestId, result: unknown) => boolean;
  refuse: (id: RequestId, message: string) => void;
  /** Rejects all pending calls. */
  end(reason: string): void;
}

export type RequestId = number | string;

export interface Listener {
  onNotification(method: string, params: Record<string, unknown>): void;
  onRequest(id: RequestId, method: string, params: Record<string, unknown>): void;
}

/** Codex answered a call with an error. */
export class CallRefused extends Error {}
/** Codex did not answer in time. It may or may not have executed the call. */
export class CallLate extends Error {}
/** The process has ended. */
class ConnectionEnded extends Error {}

interface Incoming {
  id?: RequestId;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { message?: string };
}

/** Codex's error for an unknown method lists all methods, so messages are cut. */
const maxMessage = 500;

export function createConnection(
  input: Writable,
  output: Readable,
  listener: Listener,
): Connection {
  const waiting = new Map<RequestId, PromiseWithResolvers<unknown>>();
  let ended: string | undefined;
  let lastId = 0;

  const send = (message: object): boolean => {
    if (ended !== undefined || !input.writable) return false;
    input.write(`${JSON.stringify(message)}\n`);
    return true;
  };

  const onLine = (line: string) => {
    let message: Incoming;
    try {
      message = JSON.parse(line) as Incoming;
    } catch {
      // Not a message, for instance output of another program.
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
    else call?.reject(new CallRefused((message.error.message ?? "").slice(0, maxMessage)));
  };

  readLines(output, onLine);
  // A failed write is ignored: the end of the process is handled elsewhere.
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

function readLines(output: Readable, onLine: (line: string) => void): void {
  let pieces: string[] = [];
  output.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = chunk.split("\n");
    if (lines.length === 1) {
      pieces.push(chunk);
      return;
    }
    const [first, ...rest] = lines as [string, ...string[]];
    const last = rest.pop()!;
    onLine(pieces.join("") + first);
    for (const line of rest) onLine(line);
    pieces = last === "" ? [] : [last];
  });
}
