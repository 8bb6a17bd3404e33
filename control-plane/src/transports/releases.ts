// The routes that hosts are installed and updated from: the installer with this service's own address,
// and the files of the release. The files were signed elsewhere; nothing here can make a host accept
// anything else.
import { createReadStream, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Refusal } from "@hawser/contract";
import { Hono, type Context } from "hono";
import { respond } from "./rest.ts";

/** The file names of a release; files with a version in their name never change. */
const manifest = /^(?:daemon|agents)\.json(?:\.sig)?$/;
const versioned = /^(?:hawserd-\d+\.\d+\.\d+\.mjs|node-\d+\.\d+\.\d+-linux-(?:x64|arm64)\.gz)$/;
const packedNode = /^node-([\d.]+)-(linux-(?:x64|arm64))\.gz$/;

export function releaseRoutes(directory: string | undefined, baseUrl: string): Hono {
  const app = new Hono();

  app.get("/install.sh", async (c) => {
    const text = directory && (await readFile(join(directory, "install.sh"), "utf8").catch(absent));
    if (!text) return refuse(c, directory);
    c.header("Cache-Control", "no-cache");
    c.header("Content-Type", "text/x-shellscript; charset=utf-8");
    return c.body(text.replaceAll("{{server}}", baseUrl));
  });

  app.get("/releases/:file", (c) => {
    const { file } = c.req.param();
    const isKnown = manifest.test(file) || versioned.test(file);
    const path = directory && isKnown ? join(directory, file) : undefined;
    const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
    if (!path || !found?.isFile()) return refuse(c, directory, file);
    const tag = `"${found.size}-${found.mtimeMs}"`;
    c.header("ETag", tag);
    c.header(
      "Cache-Control",
      versioned.test(file) ? "public, max-age=31536000, immutable" : "no-cache",
    );
    if (c.req.header("if-none-match") === tag) return c.body(null, 304);
    c.header("Content-Type", "application/octet-stream");
    c.header("Content-Length", String(found.size));
    if (c.req.method === "HEAD") return c.body(null);
    // Send as many bytes as announced: a file that grows in the meantime must not corrupt the
    // connection.
    const bytes = createReadStream(path, { end: found.size - 1 });
    return c.body(Readable.toWeb(bytes) as ReadableStream);
  });
  return app;
}

function refuse(c: Context, directory: string | undefined, file = "") {
  const message = directory
    ? (missingNode(file) ??
      "This service publishes no such file. GET /releases/daemon.json names those it does.")
    : "This service publishes no daemon to install. Its operator must set HAWSER_RELEASES to the directory of a release.";
  return respond(c, { refusal: new Refusal("unknown_path", message) });
}

/** A release may lack the Node of a platform, because one is 45 MB. */
function missingNode(file: string): string | undefined {
  const [, version, platform] = packedNode.exec(file) ?? [];
  if (version === undefined) return undefined;
  return `This service does not have Node ${version} for ${platform}, so no host of this platform can be installed. Its operator must copy ${file} from the npm package @hawser/node-${platform} into the directory of HAWSER_RELEASES.`;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
