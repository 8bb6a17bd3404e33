// One WebSocket of a preview: HTTP/2's extended CONNECT (RFC 8441) on the client's side, an HTTP/1.1 upgrade on the
// server's. Frames are passed on as they are.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { leaveSoon } from "../answer.ts";
import { headersForServer } from "./headers.ts";
import { limitWait, onEnd, passAnswer } from "./request.ts";

type Outcome = { opened: IncomingMessage; early: Buffer } | { refused: IncomingMessage };

/** Resolves when the WebSocket has ended. Throws if the server does not answer as one. */
export async function passWebSocket(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  socket: Socket,
  port: number,
): Promise<void> {
  const outcome = await upgrade(headers, socket, port);
  if ("refused" in outcome) {
    // In HTTP/2, this status would say that the WebSocket is open.
    if (outcome.refused.statusCode === 200) throw new Error("The server answers with a page.");
    return passAnswer(stream, outcome.refused, { port, hasBody: true });
  }
  const { opened, early } = outcome;
  // What the server chose: the client has to do the same.
  const chosen = ["sec-websocket-protocol", "sec-websocket-extensions"].flatMap((name) => {
    const value = opened.headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  if (stream.destroyed) return;
  stream.respond({ ":status": 200, ...Object.fromEntries(chosen) });
  if (early.length > 0) stream.write(early);
  await join(stream, socket);
}

function upgrade(headers: IncomingHttpHeaders, socket: Socket, port: number): Promise<Outcome> {
  const key = randomBytes(16).toString("base64");
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method: "GET",
      path: headers[":path"],
      headers: {
        ...headersForServer(headers, port, false),
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-key": key,
        "sec-websocket-version": "13",
      },
      createConnection: () => socket,
    });
    limitWait(request, reject);
    request.once("response", (refused) => resolve({ refused }));
    request.once("upgrade", (opened, _socket, early) => {
      request.setTimeout(0);
      if (opened.headers["sec-websocket-accept"] === acceptOf(key)) resolve({ opened, early });
      else reject(new Error("The server's answer is not that of a WebSocket."));
    });
    request.end();
  });
}

const acceptOf = (key: string) =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/** Passes bytes both ways, each as fast as the other end reads. Resolves when the stream has ended. */
async function join(stream: ServerHttp2Stream, socket: Socket): Promise<void> {
  if (stream.destroyed) return;
  const closed = once(stream, "close");
  socket.pipe(stream);
  stream.pipe(socket, { end: false });
  onEnd(stream, () => {
    if (stream.aborted) socket.destroy();
    else socket.end();
  });
  socket.on("error", () => {});
  socket.once("close", (hasFailed) => {
    if (hasFailed) stream.close(constants.NGHTTP2_CONNECT_ERROR);
    else leaveSoon(stream);
  });
  await closed;
}
