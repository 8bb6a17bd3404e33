// Serves one git request over HTTP with git's own program, `git http-backend`. The caller has checked that
// the request is allowed.
import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { stopProcess } from "./stop-process.ts";

export interface GitRequest {
  /** The directory that holds `owner/name.git`. */
  directory: string;
  /** Such as /owner/name.git/info/refs. */
  path: string;
  query: string;
  /** The authenticated user, who may push; undefined if there is none. */
  user?: string;
  /** Awaited in the middle of a pack. */
  gate?: Promise<void>;
}

/** More bytes than precede a pack. A pack that is to be held must be larger. */
const heldAfterBytes = 256 * 1024;

export function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  { directory, path, query, user, gate }: GitRequest,
): void {
  const backend = spawn("git", ["http-backend"], {
    stdio: ["pipe", "pipe", "ignore"],
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      ...(user !== undefined && { REMOTE_USER: user }),
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
  });
  backend.on("error", () => response.destroy());
  backend.stdin.on("error", () => {});
  request.pipe(backend.stdin);
  response.once("close", () => void stopProcess(backend));

  let head = Buffer.alloc(0);
  const readHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return;
    backend.stdout.off("data", readHead);
    backend.stdout.pause();
    const headers = new Map(
      head
        .subarray(0, end)
        .toString()
        .split("\r\n")
        .map((line) => line.split(/: ?(.*)/s) as [string, string]),
    );
    const status = Number(headers.get("Status")?.slice(0, 3) ?? 200);
    headers.delete("Status");
    response.writeHead(status, Object.fromEntries(headers));
    response.write(head.subarray(end + 4));
    pipeline(backend.stdout, hold, response).catch(() => response.destroy());
  };
  async function* hold(source: AsyncIterable<Buffer>) {
    let sent = 0;
    for await (const chunk of source) {
      if (sent > heldAfterBytes) await gate;
      sent += chunk.length;
      yield chunk;
    }
  }
  backend.stdout.on("data", readHead);
}
