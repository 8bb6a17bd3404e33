// Bytes that pass through a node, in either direction: as they arrive, with backpressure, with a time
// limit, and with a limit of concurrent transfers.
import { finished } from "node:stream/promises";
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import type { Blob } from "../blobs/blobs.ts";
import type { Log } from "../log.ts";

/** A transfer may take this long, plus a time for every byte: 64 MiB have nearly nine minutes. */
const graceMs = 10_000;
const slowestBytesPerMs = 131;
/** How long the rest of an unwanted body is read. */
const lingerMs = 1_000;

/** How long a body of this size may take to arrive, or to be read. */
export function bodyDeadlineMs(size: number): number {
  return graceMs + size / slowestBytesPerMs;
}

/**
 * Answers 100 Continue to a sender that asked for it (Expect: 100-continue). Call it only after all
 * checks that need no body.
 */
export function letSenderBegin({ incoming, outgoing }: HttpBindings): void {
  if (/^100-continue$/i.test(incoming.headers.expect ?? "")) outgoing.writeContinue();
}

/** The pieces of a body as they arrive. Throws if the sender is too slow. */
export async function* bodyOf(http: HttpBindings, size: number) {
  letSenderBegin(http);
  const { incoming } = http;
  const deadline = performance.now() + bodyDeadlineMs(size);
  // The socket stays open at the end, so that a refusal can still be answered.
  const pieces = incoming.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = await before(deadline, pieces.next());
      if (next.done) return;
      yield next.value as Buffer;
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("invalid_input", "The body ended before it was complete. Send it again.");
  }
}

/**
 * Answers only after the body that is still being sent was read, for a while: closing the connection in
 * the middle of a body resets it, and the answer would be lost.
 */
export async function afterBody<T>({ incoming }: HttpBindings, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    // A sender that waits for 100-continue has sent nothing.
    const isWaiting = incoming.headers.expect !== undefined && !incoming.readableDidRead;
    if (!isWaiting && !incoming.readableEnded) {
      incoming.resume();
      await finished(incoming, { signal: AbortSignal.timeout(lingerMs) }).catch(() => undefined);
    }
  }
}

/** Use a new promise each time: a single one for all would hold every piece in memory until the end. */
async function before<T>(deadline: number, piece: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow()), deadline - performance.now());
  try {
    return await Promise.race([piece, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export function tooSlow(): Refusal {
  return new Refusal("invalid_input", "The body arrived too slowly. Send it again.");
}

/** Reads chunk by chunk as the reader consumes; a reader that is too slow is cut off. */
export function streamOf(
  { size, chunks }: Blob,
  leave: () => void,
  log: Log,
): ReadableStream<Uint8Array> {
  const source = chunks();
  let timer: NodeJS.Timeout;
  const end = () => {
    clearTimeout(timer);
    leave();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        timer = setTimeout(() => {
          end();
          controller.error(new Error("The reader was too slow."));
        }, bodyDeadlineMs(size));
      },
      async pull(controller) {
        try {
          const { done, value } = await source.next();
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          log.warn({ err: error }, "a blob could not be read to its end");
          end();
          controller.error(error);
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Limits concurrent transfers, per sender and in total. */
export function createGate({
  most,
  mostOfOne,
  what,
}: {
  most: number;
  mostOfOne: number;
  what: string;
}) {
  const running = new Map<string, number>();
  let all = 0;
  return {
    enter(sender: string): () => void {
      const own = running.get(sender) ?? 0;
      if (own >= mostOfOne || all >= most) {
        throw new Refusal("rate_limited", `Too many ${what} are in progress at once. Try again.`, {
          retryAfterMs: 1000,
        });
      }
      running.set(sender, own + 1);
      all++;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        all--;
        const rest = running.get(sender)! - 1;
        if (rest > 0) running.set(sender, rest);
        else running.delete(sender);
      };
    },
  };
}
