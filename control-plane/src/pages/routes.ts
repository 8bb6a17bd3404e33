// The dashboard: its files, and the one page that answers every address of a page. Paths of programs, such as those
// below /api, are never pages.
import { fileURLToPath } from "node:url";
import { Hono, type Context } from "hono";
import { readBuiltFiles, type BuiltFile } from "./built-files.ts";
import { securityHeaders } from "./security-headers.ts";

/** Beside the migrations, in the sources as in the package. */
export const ownPages = fileURLToPath(new URL("../../pages/", import.meta.url));

const page = "/index.html";
const ofPrograms = /^\/(?:api|releases|healthz|readyz|install\.sh|\.well-known)(?:\/|$)/;
const notBuilt =
  "This service is installed without its dashboard. In its sources, run `npm run web:build`; an installed package has it, so install that again, with all its files.\n";

export function pageRoutes(directory: string): Hono {
  const app = new Hono();
  let files: Map<string, BuiltFile> | undefined;

  app.get("*", async (c, next) => {
    const { path } = c.req;
    // A sources' node may have been started before its dashboard was built.
    files ??= read();
    const file = files?.get(path);
    if (file && path !== page) return send(c, file);
    if (ofPrograms.test(path) || !isForPerson(c)) return next();
    const index = files?.get(page);
    if (index) return send(c, index);
    return c.text(notBuilt, 503);
  });
  return app;

  function read() {
    try {
      return readBuiltFiles(directory);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

/** A browser that opens an address accepts HTML. Programs get the refusal that other unknown paths get. */
function isForPerson(c: Context): boolean {
  if (c.req.path.startsWith("/assets/")) return false;
  return c.req.header("accept")?.includes("text/html") ?? false;
}

function send(c: Context, { type, isHashed, tag, content, compressed }: BuiltFile): Response {
  for (const [name, value] of Object.entries(securityHeaders)) c.header(name, value);
  c.header("Cache-Control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
  c.header("Vary", "Accept-Encoding");
  c.header("ETag", tag);
  // A cache may have weakened the tag.
  const known = c.req.header("if-none-match")?.split(/\s*,\s*/) ?? [];
  if (known.some((each) => each.replace(/^W\//, "") === tag)) return c.body(null, 304);
  c.header("Content-Type", type);
  const accepted = c.req.header("accept-encoding") ?? "";
  for (const [encoding, bytes] of compressed) {
    // Browsers give no weights. A client that refuses an encoding by q=0 gets the file as it is.
    if (!new RegExp(`(?:^|,)\\s*${encoding}\\s*(?:,|$)`).test(accepted)) continue;
    c.header("Content-Encoding", encoding);
    return sendBytes(c, bytes);
  }
  return sendBytes(c, content);
}

function sendBytes(c: Context, bytes: Buffer<ArrayBuffer>): Response {
  c.header("Content-Length", String(bytes.length));
  return c.req.method === "HEAD" ? c.body(null) : c.body(bytes);
}
