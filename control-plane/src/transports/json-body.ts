// Reads a request's JSON body within limits of size, time and number of values, and refuses any other
// body.
import type { IncomingMessage } from "node:http";
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { bodyDeadlineMs, letSenderBegin, tooSlow } from "./transfers.ts";
import { createValueCount } from "./value-count.ts";

const largestBody = 8 * 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export async function readJsonBody(http: HttpBindings, largest = largestBody): Promise<unknown> {
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
  const bytes = await readBytes(http, largest);
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown;
  } catch {
    throw new Refusal(
      "invalid_input",
      "The body is not JSON. Send an object, {} when the action has no fields.",
    );
  }
}

async function readBytes(http: HttpBindings, largest: number): Promise<Buffer> {
  const announced = http.incoming.headers["content-length"];
  if (Number(announced ?? 0) > largest) throw tooLarge(largest);
  letSenderBegin(http);
  const countValues = createValueCount();
  const pieces: Buffer[] = [];
  let size = 0;
  const deadlineMs = bodyDeadlineMs(announced === undefined ? largest : Number(announced));
  await receive(http.incoming, deadlineMs, (piece) => {
    size += piece.byteLength;
    if (size > largest) throw tooLarge(largest);
    countValues(piece);
    pieces.push(piece);
  });
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

/** Passes on each piece as it arrives. Once `accept` throws, further pieces are dropped. */
async function receive(
  incoming: IncomingMessage,
  deadlineMs: number,
  accept: (piece: Buffer) => void,
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
  const timer = setTimeout(() => reject(tooSlow()), deadlineMs);
  incoming.on("data", onData).on("end", resolve).on("error", onClose).on("close", onClose);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    incoming.off("data", onData).off("end", resolve).off("error", onClose).off("close", onClose);
  }
}

function tooLarge(largest: number): Refusal {
  const shown = largest < 1024 * 1024 ? `${largest / 1024} KiB` : `${largest / 1024 / 1024} MiB`;
  return new Refusal("payload_too_large", `The body is larger than ${shown}. Send less.`);
}
