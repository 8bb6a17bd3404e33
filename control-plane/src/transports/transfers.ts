// Bytes on their way through a node, in either direction: as they come, no faster than they are taken,
// not for ever, and not too many at once.
import { finished } from "node:stream/promises";
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import type { Blob } from "../blobs/blobs.ts";
import type { Log } from "../log.ts";

/** A transfer may take this long, and so much longer for every byte: 64 MiB have nearly nine minutes. */
const graceMs = 10_000;
const slowestBytesPerMs = 131;
/** How long the rest of a body is read that nobody wants. */
const lingerMs = 1_000;

function deadlineOf(size: number): number {
  return graceMs + size / slowestBytesPerMs;
}

/** The pieces of a body as they come; a sender that is too slow is not waited for. */
export async function* bodyOf({ incoming, outgoing }: HttpBindings, size: number) {
  // Whoever asked before sending is told to begin only now, when nothing stands against it.
  if (/^100-continue$/i.test(incoming.headers.expect ?? "")) {
    outgoing.writeContinue();
  }
  const deadline = performance.now() + deadlineOf(size);
  // Kept open at the end, so that a refusal can still be answered.
  const pieces = incoming.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = await before(deadline, pieces.next());
      if (next.done) return;
      yield next.value as Buffer;
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("invalid_input", "The body ended before it was whole. Send it again.");
  }
}

/**
 * Answers only when what is still being sent has been read, for a while: whoever closes on a sender in
 * mid-body resets the connection, and the answer is lost with it.
 */
export async function afterBody<T>({ incoming }: HttpBindings, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    // A sender that waits to be told to begin, and was not told, has nothing on its way.
    const isWaiting = incoming.headers.expect !== undefined && !incoming.readableDidRead;
    if (!isWaiting && !incoming.readableEnded) {
      incoming.resume();
      await finished(incoming, { signal: AbortSignal.timeout(lingerMs) }).catch(() => undefined);
    }
  }
}

/** Raced against a promise of its own each time: one for all would hold on to every piece until the end. */
async function before<T>(deadline: number, piece: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow()), deadline - performance.now());
  try {
    return await Promise.race([piece, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(): Refusal {
  return new Refusal("invalid_input", "The body came too slowly and was not waited for.");
}

/** Read as it is taken, chunk by chunk; a reader that is too slow is cut. */
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
        }, deadlineOf(size));
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

/** How many transfers there may be at once, of one sender and of all. */
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
        throw new Refusal("rate_limited", `Too many ${what} are on their way at once. Try again.`, {
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
