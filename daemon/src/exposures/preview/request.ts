// One HTTP request of a preview: its body is streamed to the server of the session, and the answer to the client.
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { leaveSoon, RequestRefused } from "../answer.ts";
import { headersForClient, headersForServer } from "./headers.ts";

/** How long a server may do nothing before it answers. Some compile a page first. */
const answerMs = 120_000;
/** How many interim answers (1xx) a server may send before it answers. */
const mostInterim = 100;
/** How many pieces of an answer may wait. A server that writes lines of text has a few dozen. */
const mostPieces = 4_096;
const emptyStatuses = [204, 205, 304];

/** Resolves when the answer has ended. Throws if the server does not answer. */
export async function passRequest(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  socket: Socket,
  port: number,
): Promise<void> {
  const { ":method": method = "GET" } = headers;
  // The client waits for this before it sends the body.
  if (headers.expect?.toLowerCase() === "100-continue")
    stream.additionalHeaders({ ":status": 100 });
  const answer = await send(stream, headers, socket, port);
  await passAnswer(stream, answer, { port, hasBody: method !== "HEAD" });
}

function send(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  socket: Socket,
  port: number,
): Promise<IncomingMessage> {
  const hasBody = !stream.endAfterHeaders;
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method: headers[":method"],
      path: headers[":path"],
      headers: { ...headersForServer(headers, port, hasBody), connection: "close" },
      createConnection: () => socket,
    });
    limitWait(request, reject);
    request.once("response", resolve);
    if (hasBody) sendBody(stream, request);
    else request.end();
  });
}

/**
 * Rejects if the server closes the connection, does nothing for too long, or sends too many interim answers, before it
 * answers.
 */
export function limitWait(request: ClientRequest, reject: (error: Error) => void): void {
  request.setTimeout(answerMs, () => {
    const message = `The server did not answer within ${answerMs / 1000} s. Try again, or read its output.`;
    reject(new RequestRefused(504, "server_late", message));
    request.destroy();
  });
  let interim = 0;
  request.on("information", () => {
    interim += 1;
    if (interim > mostInterim) request.destroy(new Error("The server sends only interim answers."));
  });
  request.once("response", (answer) => {
    request.setTimeout(0);
    limitPieces(answer);
  });
  // The answer may be complete although the server did not read the whole body.
  request.on("error", reject);
  request.once("close", () => reject(new Error("The server closed the connection.")));
}

function sendBody(stream: ServerHttp2Stream, request: ClientRequest): void {
  stream.pipe(request, { end: false });
  onEnd(stream, () => {
    // Half of a body must not look like a whole one.
    if (stream.aborted) request.destroy();
    else request.end();
  });
}

/** Calls back when the client has sent everything or has left, also if that was before. */
export function onEnd(stream: ServerHttp2Stream, callback: () => void): void {
  if (stream.readableEnded) callback();
  else stream.once("end", callback);
}

/** Resolves when the answer has ended. Throws if the server breaks off. */
export async function passAnswer(
  stream: ServerHttp2Stream,
  answer: IncomingMessage,
  { port, hasBody }: { port: number; hasBody: boolean },
): Promise<void> {
  const { statusCode: status = 502, headers } = answer;
  const endStream = !hasBody || emptyStatuses.includes(status);
  stream.respond({ ...headersForClient(headers, port), ":status": status }, { endStream });
  if (endStream) answer.resume();
  // Reads no more of the answer than the client does. The iterator joins the pieces that wait, because each piece
  // costs the tunnel a message.
  else await pipeline(answer.iterator(), stream);
  leaveSoon(stream);
}

/** Cuts an answer of which too many pieces wait. Single bytes cost the daemon far more time and memory than others. */
function limitPieces(answer: IncomingMessage): void {
  let pieces = 0;
  const push = answer.push.bind(answer);
  answer.push = (...piece) => {
    if (answer.destroyed) return false;
    // There are no more pieces than bytes.
    pieces = Math.min(pieces, answer.readableLength) + 1;
    if (pieces > mostPieces) answer.destroy(new Error("The answer has too many small pieces."));
    return push(...piece);
  };
}
