// Reads a request's JSON body up to a size limit, and refuses any other body.
import { Refusal } from "@hawser/contract";

export const largestBody = 8 * 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export async function readJsonBody(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Refusal(
      "invalid_input",
      "The body must be JSON: send Content-Type: application/json.",
    );
  }
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new Refusal(
      "invalid_input",
      "The body must not be compressed: send it without Content-Encoding.",
    );
  }
  const bytes = await readBytes(request);
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown;
  } catch {
    throw new Refusal(
      "invalid_input",
      "The body is not JSON. Send an object, {} when the action has no fields.",
    );
  }
}

async function readBytes(request: Request): Promise<ArrayBuffer | Uint8Array> {
  const announced = request.headers.get("content-length");
  if (Number(announced ?? 0) > largestBody) throw tooLarge();
  try {
    // The server reads no more than was announced, so only a body of unknown length must be counted.
    return announced === null ? await readCounted(request) : await request.arrayBuffer();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // The caller disconnected, which is not a fault of the service.
    throw new Refusal("invalid_input", "The body ended before it was complete. Send it again.");
  }
}

async function readCounted(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > largestBody) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): Refusal {
  return new Refusal("payload_too_large", "The body is larger than 8 MiB.");
}
