// Reads a request's JSON body within limits of size, time and number of values, and refuses any other
// body.
import type { IncomingMessage } from "node:http";
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { createOpenLimit, type Hold, type OpenLimit } from "./open-limit.ts";
import { afterBody, bodyDeadlineMs, letSenderBegin, tooSlow } from "./transfers.ts";
import { createValueCount } from "./value-count.ts";

const MiB = 1024 * 1024;
const largestBody = 8 * MiB;
/** What a call occupies besides its body. */
const callBytes = 4 * 1024;
/** Two of the largest bodies, and a thousand small ones. */
const mostOfKey = 20 * MiB;
const mostOfOrganization = 80 * MiB;

/** Limits the bytes of unanswered calls. */
export function createBodyLimit(): OpenLimit {
  return createOpenLimit({
    ofKey: mostOfKey,
    ofOrganization: mostOfOrganization,
    refuse(holder) {
      const most = (holder === "key" ? mostOfKey : mostOfOrganization) / MiB;
      return new Refusal(
        "concurrency_limited",
        `The unanswered calls of this ${holder} have more than ${most} MiB together. Wait until some are answered, then call again.`,
        { retryAfterMs: 1000 },
      );
    },
  });
}

interface BodyOptions {
  largest?: number;
  /** Counts the bytes that the call occupies. */
  hold?: Hold;
}

interface BytesOptions extends BodyOptions {
  /** How long the body may take to arrive; a time for its size by default. */
  deadlineMs?: number;
  /** Ends the reading. Its reason is thrown. */
  signal?: AbortSignal;
  /** Called with each piece as it arrives. */
  check?: (piece: Buffer) => void;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A refusal is thrown once the rest of the body has arrived, or after a while: see `afterBody`. */
export function readJsonBody(http: HttpBindings, options: BodyOptions = {}): Promise<unknown> {
  return afterBody(http, () => parseBody(http, options));
}

/** The bytes of a body, whatever they are. Throws a refusal at once: call it inside `afterBody`. */
export async function readBody(
  http: HttpBindings,
  { largest = largestBody, hold = () => undefined, ...options }: BytesOptions,
): Promise<Buffer> {
  const occupy = (bytes: number) => {
    const refusal = hold(bytes);
    if (refusal) throw refusal;
  };
  const announced = http.incoming.headers["content-length"];
  if (Number(announced ?? 0) > largest) throw tooLarge(largest);
  occupy(callBytes + Number(announced ?? 0));
  letSenderBegin(http);
  const pieces: Buffer[] = [];
  let size = 0;
  const { deadlineMs = bodyDeadlineMs(announced === undefined ? largest : Number(announced)) } =
    options;
  const accept = (piece: Buffer) => {
    size += piece.byteLength;
    if (size > largest) throw tooLarge(largest);
    if (announced === undefined) occupy(piece.byteLength);
    options.check?.(piece);
    pieces.push(piece);
  };
  await receive(http.incoming, deadlineMs, accept, options.signal);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

async function parseBody(http: HttpBindings, options: BodyOptions): Promise<unknown> {
  const { headers } = http.incoming;
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) {
    throw new Refusal(
      "invalid_input",
      "The body must be JSON: send Content-Type: application/json.",
    );
  }
  if ((headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") {
    throw new Refusal(
      "invalid_input",
      "The body must not be compressed: send it without Content-Encoding.",
    );
  }
  const bytes = await readBody(http, { ...options, check: createValueCount() });
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown;
  } catch {
    throw new Refusal(
      "invalid_input",
      "The body is not JSON. Send an object, {} when the action has no fields.",
    );
  }
}

/** Passes on each piece as it arrives. Once `accept` throws, further pieces are dropped. */
async function receive(
  incoming: IncomingMessage,
  deadlineMs: number,
  accept: (piece: Buffer) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onData = (piece: Buffer) => {
    try {
      accept(piece);
    } catch (error) {
      reject(error);
    }
  };
  // The caller disconnected, which is not a fault of the service.
  const onClose = () =>
    reject(new Refusal("invalid_input", "The body ended before it was complete. Send it again."));
  // "close" follows at once, and would make an error of every body: its stack costs more than the reading.
  const onEnd = () => {
    incoming.off("close", onClose);
    resolve();
  };
  const onAbort = () => reject(signal!.reason as Refusal);
  const timer = setTimeout(() => reject(tooSlow()), deadlineMs);
  signal?.addEventListener("abort", onAbort);
  incoming.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    incoming.off("data", onData).off("end", onEnd).off("error", onClose).off("close", onClose);
  }
}

function tooLarge(largest: number): Refusal {
  const shown = largest < MiB ? `${largest / 1024} KiB` : `${largest / MiB} MiB`;
  return new Refusal("payload_too_large", `The body is larger than ${shown}. Send less.`);
}
