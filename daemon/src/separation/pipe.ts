// Calls between the front of a host and one of its workers, over the worker's standard input and output: a line of
// JSON for each call and each answer. Both sides can call. A worker runs as the Unix user of its agents, so they may
// have taken it over: the other side reads nothing that is longer, or more, than it allows.
import type { Readable, Writable } from "node:stream";
import { BlobRefused } from "../blobs/lane.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { isObject } from "../drivers/is-object.ts";
import { ToldToWait } from "../link/up-call.ts";
import { describe, type Log } from "../log.ts";

export type Handler = (body: never) => unknown;
export type Handlers = Record<string, Handler>;

export interface Pipe {
  /** Throws what the other side threw, or an error if it has ended or does not answer in time. */
  call(name: string, body: object, timeoutMs?: number): Promise<unknown>;
  /** A call whose answer is of no interest. */
  send(name: string, body: object): void;
  isClosed(): boolean;
  closed: Promise<void>;
  close(): void;
}

/** How much the other side may send at once. */
export interface Limits {
  /** Calls that wait for their answers, and their bytes. */
  calls: number;
  bytes: number;
  /** Bytes of one line. */
  line: number;
}

interface Line {
  id?: number;
  call?: string;
  body?: unknown;
  result?: unknown;
  error?: ErrorText;
}

/** NATS accepts messages of 1 MiB. As a text in a line, a message of quotation marks alone has twice its length. */
const usualLimits: Limits = { calls: 200, bytes: 64 * 2 ** 20, line: 3 * 2 ** 20 };
const usualTimeoutMs = 60_000;
/** Longest message of an error, in characters. It is logged, and may become a warning of the host. */
const longestMessage = 2_000;
const longestName = 100;

export function openPipe(
  input: Readable,
  output: Writable,
  handlers: Handlers,
  log: Log,
  limits = usualLimits,
): Pipe {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const closed = Promise.withResolvers<void>();
  let lastId = 0;
  const running = { calls: 0, bytes: 0 };
  let isClosed = false;

  function close(why = "The other process has ended."): void {
    if (isClosed) return;
    isClosed = true;
    input.destroy();
    output.end();
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
    closed.resolve();
  }

  /** Resolves when the other side has taken it, or will take nothing more. */
  function write(line: Line): Promise<void> {
    if (isClosed) return Promise.resolve();
    return new Promise((resolve) => output.write(`${JSON.stringify(line)}\n`, () => resolve()));
  }

  async function answer({ id, call: name, body }: Line, size: number): Promise<void> {
    // The call counts until its answer is read: the other side might send calls for ever and read no answer.
    running.calls += 1;
    running.bytes += size;
    try {
      const handler = Object.hasOwn(handlers, name!) ? handlers[name!] : undefined;
      if (!handler) throw new Error(`There is no call ${name!.slice(0, longestName)}.`);
      const result = await handler((body ?? {}) as never);
      if (id !== undefined) await write({ id, result: result ?? null });
    } catch (error) {
      if (id !== undefined) await write({ id, error: errorText(error) });
      else {
        const { message } = errorText(error);
        const call = name!.slice(0, longestName);
        log.warn("a call of another process failed", { call, error: message });
      }
    } finally {
      running.calls -= 1;
      running.bytes -= size;
    }
  }

  function read(text: string): void {
    const line = parse(text);
    if (!line) return close("The other process wrote something that is no message.");
    if (line.call !== undefined) return void answer(line, text.length);
    const call = waiting.get(line.id!);
    if (!call) return;
    waiting.delete(line.id!);
    if (line.error) call.reject(readError(line.error));
    else call.resolve(line.result);
  }

  async function readAll(): Promise<void> {
    for await (const text of linesOf(input, limits.line)) {
      if (isClosed) return;
      if (text === tooLong) return close("The other process wrote too much at once.");
      read(text);
      // Calls that are answered at once do not count, however many arrive together.
      if (running.calls > limits.calls || running.bytes > limits.bytes) await settle();
      if (running.calls > limits.calls || running.bytes > limits.bytes)
        return close("The other process made too many calls at once.");
    }
    close();
  }

  readAll().catch(() => close());
  for (const stream of [input, output]) stream.on("error", () => close());

  return {
    async call(name, body, timeoutMs = usualTimeoutMs) {
      if (isClosed) throw new Error("The other process has ended.");
      const id = ++lastId;
      const answered = Promise.withResolvers<unknown>();
      waiting.set(id, answered);
      const late = setTimeout(() => {
        waiting.delete(id);
        answered.reject(new Error(`The other process did not answer in time (${name}).`));
      }, timeoutMs);
      void write({ id, call: name, body });
      return answered.promise.finally(() => clearTimeout(late));
    },
    send: (name, body) => void write({ call: name, body }),
    isClosed: () => isClosed,
    closed: closed.promise,
    close: () => close(),
  };
}

const tooLong = Symbol("too long");
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Only a line feed ends a line: JSON text may contain the other characters that readline takes for one. */
async function* linesOf(
  input: Readable,
  limit: number,
): AsyncGenerator<string | typeof tooLong, void> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const data of input as AsyncIterable<Buffer>) {
    for (let at = 0; at < data.length;) {
      const found = data.indexOf(10, at);
      const end = found === -1 ? data.length : found;
      pieces.push(data.subarray(at, end));
      length += end - at;
      if (length > limit) {
        yield tooLong;
        return;
      }
      at = end + 1;
      if (found === -1) continue;
      yield Buffer.concat(pieces).toString();
      [pieces, length] = [[], 0];
    }
  }
}

function parse(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isLine(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

function isLine(value: unknown): value is Line {
  if (!isObject(value)) return false;
  const { id, call, error } = value;
  const isError = error === undefined || (isObject(error) && isErrorText(error));
  const hasId = id === undefined || Number.isSafeInteger(id);
  return hasId && isError && (call === undefined ? id !== undefined : typeof call === "string");
}

const isErrorText = ({ message, code, field, retryAfterMs }: Record<string, unknown>) =>
  typeof message === "string" &&
  [code, field].every((each) => each === undefined || typeof each === "string") &&
  (retryAfterMs === undefined || typeof retryAfterMs === "number");

/** An error as text: those whose class matters keep it. */
interface ErrorText {
  message: string;
  type?: "refusal" | "blob" | "wait";
  code?: string;
  field?: string | undefined;
  retryAfterMs?: number;
}

function errorText(error: unknown): ErrorText {
  const message = describe(error).slice(0, longestMessage);
  if (error instanceof CommandRefusal) {
    return { type: "refusal", message, code: error.code, field: error.field };
  }
  if (error instanceof BlobRefused) return { type: "blob", message, code: error.code };
  if (error instanceof ToldToWait) {
    return { type: "wait", message, code: error.code, retryAfterMs: error.retryAfterMs };
  }
  return { message };
}

function readError({ type, code = "failed", field, retryAfterMs = 0, ...text }: ErrorText): Error {
  const message = text.message.slice(0, longestMessage);
  if (type === "refusal") return new CommandRefusal(code, message, field);
  if (type === "blob") return new BlobRefused(code, message);
  if (type === "wait") return new ToldToWait({ refused: code, retryAfterMs });
  return new Error(message);
}
