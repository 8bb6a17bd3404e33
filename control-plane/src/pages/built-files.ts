// The files of the built dashboard: which there are, and how each is sent. They never change while a node runs.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

export interface BuiltFile {
  type: string;
  /** Its name contains a hash of its content. */
  isHashed: boolean;
  tag: string;
  content: Buffer<ArrayBuffer>;
  /** The content as the build has compressed it, by the encoding's name. */
  compressed: Map<string, Buffer<ArrayBuffer>>;
}

const types: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
  webmanifest: "application/manifest+json",
};
/** In the order in which they are preferred. */
const encodings: [name: string, ending: string][] = [
  ["br", ".br"],
  ["gzip", ".gz"],
];

/** By their paths in addresses, such as /assets/index-1a2b3c.js. Undefined if the dashboard is not built. */
export function readBuiltFiles(directory: string): Map<string, BuiltFile> | undefined {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  const known = new Set(names.map((name) => name.split(sep).join("/")));
  if (!known.has("index.html")) return undefined;
  const files = new Map<string, BuiltFile>();
  for (const name of known) {
    const type = types[name.slice(name.lastIndexOf(".") + 1)];
    // What has no type is a folder, or a compressed file, which is part of another.
    if (type === undefined) continue;
    const content = readFileSync(join(directory, name));
    const compressed = encodings
      .filter(([, ending]) => known.has(name + ending))
      .map(
        ([encoding, ending]) => [encoding, readFileSync(join(directory, name + ending))] as const,
      );
    files.set(`/${name}`, {
      type,
      isHashed: name.startsWith("assets/"),
      tag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`,
      content,
      compressed: new Map(compressed),
    });
  }
  return files;
}
