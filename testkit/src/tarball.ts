// Hand-made tarballs: valid ones like npm's, and ones that npm would never make.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

export interface TarPart {
  name: string;
  content?: string | Buffer;
  /** tar's own letter: 0 file, 5 directory, 1 and 2 links, 3 device, x and g pax. */
  type?: string;
  mode?: number;
  link?: string;
  /** The size in the header; by default that of the content. */
  size?: string;
  /** In place of ustar. */
  magic?: string;
}

const block = 512;

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((block - (content.length % block)) % block)]);
}

export function tarPart({
  name,
  content = "",
  type = "0",
  mode = 0o644,
  link = "",
  size,
  magic = "ustar",
}: TarPart): Buffer {
  const body = Buffer.from(content);
  const header = Buffer.alloc(block);
  header.write(name, 0, 100);
  header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
  header.write(size ?? `${body.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write(`${magic}\0`, 257);
  header.write("00", 263);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, padded(body)]);
}

/** A pax header for the entry that follows it. */
export function paxPart(records: Record<string, string>, type = "x"): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest + String(rest).length;
    if (String(length).length > String(rest).length) length = rest + String(length).length;
    return `${length} ${key}=${value}\n`;
  });
  return tarPart({ name: "PaxHeader", type, content: lines.join("") });
}

export const tarEnd = Buffer.alloc(2 * block);

export function makeTarball(parts: (TarPart | Buffer)[], end = tarEnd): Buffer {
  const blocks = parts.map((part) => (Buffer.isBuffer(part) ? part : tarPart(part)));
  return gzipSync(Buffer.concat([...blocks, end]));
}

/** A package whose program prints a version: a stand-in for tests that need no real agent. */
export function makeProgramTarball(program: string, says: string): Buffer {
  const content = `#!/bin/sh\necho '${says}'\n`;
  return makeTarball([
    { name: "package/package.json", content: "{}" },
    { name: `package/${program}`, content, mode: 0o755 },
  ]);
}

/** The part of a manifest that describes a tarball. */
export function packageOf(path: string, bytes: Buffer, into = ".") {
  const sha512 = createHash("sha512").update(bytes).digest("base64");
  return { path, sha512, size: bytes.length, into };
}
