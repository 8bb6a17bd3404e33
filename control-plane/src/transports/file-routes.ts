// POST /api/files and GET /api/files/{fileId}: files for prompts. The caller's description of a file is
// not trusted: it is served as bytes to save, which no browser may interpret.
import { Refusal } from "@hawser/contract";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Dispatcher, Route } from "../dispatch/dispatcher.ts";
import { largestFile, type Files, type NewFile } from "../files/files.ts";
import type { Log } from "../log.ts";
import type { ReadCredentials } from "./credentials.ts";
import { answerHost } from "./host-routes.ts";
import { callId, respond } from "./rest.ts";
import { afterBody, bodyOf, createGate, streamOf } from "./transfers.ts";

const filesPath = "/api/files";

const uploadFile: Route = { name: "upload_file", permission: "sessions:edit", effect: "changes" };
const downloadFile: Route = { name: "download_file", permission: "sessions:view", effect: "reads" };

const longestName = 255;

export function fileRoutes({
  dispatcher,
  files,
  credentialsOf,
  log,
}: {
  dispatcher: Pick<Dispatcher, "admit">;
  files: Files;
  credentialsOf: ReadCredentials;
  log: Log;
}): Hono {
  const app = new Hono();
  const gate = createGate({ most: 32, mostOfOne: 10, what: "files" });
  const admit = async (c: Context, route: Route) => {
    const admitted = await dispatcher.admit(credentialsOf(c), route, callId(c));
    if ("refusal" in admitted) throw admitted.refusal;
    return admitted;
  };

  async function add(c: Context) {
    const { caller, writeEntry } = await admit(c, uploadFile);
    const { organizationId, sessionId } = caller;
    const http = c.env as HttpBindings;
    const size = announcedSize(c);
    const mime = mimeOf(c);
    const filename = nameIn(c);
    const leave = gate.enter(organizationId);
    try {
      const body = () => bodyOf(http, size ?? largestFile);
      const alongside: NewFile["alongside"] = (tx, { fileId, size }) =>
        writeEntry(tx, { mime, filename, size }, { fileId });
      const stored = await files.add({
        organizationId,
        sessionId,
        mime,
        filename,
        size,
        body,
        alongside,
      });
      return c.json({ fileId: stored.fileId, size: stored.size, mime }, 201);
    } finally {
      leave();
    }
  }

  app.post(filesPath, (c) =>
    answerHost(c, log, () => afterBody(c.env as HttpBindings, () => add(c))),
  );

  app.get(`${filesPath}/:fileId`, (c) =>
    answerHost(c, log, async () => {
      const { caller } = await admit(c, downloadFile);
      const file = await files.read(caller, c.req.param("fileId"));
      const name = file.filename === null ? "" : `; filename*=UTF-8''${encoded(file.filename)}`;
      const leave = gate.enter(caller.organizationId);
      return c.body(streamOf(file, leave, log), 200, {
        "Content-Length": String(file.size),
        "Content-Type": "application/octet-stream",
        "Content-Disposition": `attachment${name}`,
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
      });
    }),
  );

  const only = (allowed: string) => (c: Context) => {
    c.header("Allow", allowed);
    const message = `Only ${allowed} is served at this path.`;
    return respond(c, { refusal: new Refusal("method_not_allowed", message) });
  };
  app.all(filesPath, only("POST"));
  app.all(`${filesPath}/:fileId`, only("GET"));
  return app;
}

function announcedSize(c: Context): number | undefined {
  const given = c.req.header("content-length");
  if (given === undefined) return undefined;
  if (Number(given) <= largestFile) return Number(given);
  throw new Refusal("payload_too_large", "The file is larger than 16 MiB.");
}

function mimeOf(c: Context): string {
  const [mime = ""] = (c.req.header("content-type") ?? "application/octet-stream").split(";");
  return mime.trim().toLowerCase().slice(0, longestName);
}

/** A name to show: not a path, and without characters that a terminal or a header would interpret. */
function nameIn(c: Context): string | null {
  const name = c.req.query("filename")?.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}/\\]/gu, "_");
  return name ? name.slice(0, longestName) : null;
}

const encoded = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16)}`,
  );
