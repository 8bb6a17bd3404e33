// Writes a backup: a tar archive that only its owner can read. Every member is hashed while it is written. The
// archive has its final name only when it is complete and on disk.
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { flushDirectory } from "@hawser/daemon/installs/unpack.ts";
import { CommandFailed } from "../command-failed.ts";
import { names, type Manifest, type Member } from "./manifest.ts";

/** The directory at the top of the archive. */
export const top = "hawser-backup";

export interface ArchiveWriter {
  /** Adds a member of any length. */
  add(name: string, content: AsyncIterable<Buffer> | Buffer): Promise<Member>;
  /** Writes the manifest, flushes the file and gives it its name. */
  finish(about: Omit<Manifest, "members">): Promise<void>;
  /** Removes an unfinished archive. No-op after finish. */
  abandon(): Promise<void>;
}

const block = 512;

/** Throws if the file exists. */
export async function writeArchive(path: string): Promise<ArchiveWriter> {
  const next = `${path}.next`;
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  // What a killed backup left is useless.
  await rm(next, { force: true });
  const file = await open(next, O_WRONLY | O_CREAT | O_EXCL, 0o600).catch((cause: Error) => {
    throw new CommandFailed(`${next} cannot be written: ${cause.message}.`);
  });
  let at = 0;
  let isOpen = true;
  const members: Member[] = [];
  const append = async (bytes: Buffer) => {
    await writeAll(file, bytes, at);
    at += bytes.length;
  };

  const addMember = async (name: string, content: AsyncIterable<Buffer> | Buffer) => {
    const start = at;
    const hash = createHash("sha256");
    let size = 0;
    // The size of a stream is known at its end, so its headers are written then.
    at += headersOf(name, 0).length;
    for await (const part of Buffer.isBuffer(content) ? [content] : content) {
      hash.update(part);
      size += part.length;
      await append(part);
    }
    await append(Buffer.alloc((block - (size % block)) % block));
    await writeAll(file, headersOf(name, size), start);
    return { name, size, sha256: hash.digest("hex") };
  };

  return {
    async add(name, content) {
      const member = await addMember(name, content);
      members.push(member);
      return member;
    },
    async finish(about) {
      const text = Buffer.from(`${JSON.stringify({ ...about, members }, undefined, 2)}\n`);
      const { sha256 } = await addMember(names.manifest, text);
      await addMember(names.manifestHash, Buffer.from(`${sha256}\n`));
      await append(Buffer.alloc(2 * block));
      await file.sync();
      await file.close();
      isOpen = false;
      await rename(next, path);
      await flushDirectory(dirname(path));
    },
    async abandon() {
      if (!isOpen) return;
      isOpen = false;
      await file.close();
      await rm(next, { force: true });
    },
  };
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/**
 * Always of the same length for one name. The number in a ustar header ends at 8 GiB, so the size is in a pax
 * header before it.
 */
function headersOf(name: string, size: number): Buffer {
  const digits = String(size).padStart(15, "0");
  const record = `24 size=${digits}\n`;
  const pax = Buffer.alloc(block);
  pax.write(record, "latin1");
  const small = size < 8 ** 11 ? size : 0;
  return Buffer.concat([
    header(`${top}/pax-header`, record.length, "x"),
    pax,
    header(`${top}/${name}`, small, "0"),
  ]);
}

function header(path: string, size: number, type: "0" | "x"): Buffer {
  const [prefix, name] = splitName(path);
  const bytes = Buffer.alloc(block);
  const octal = (value: number, length: number) =>
    `${value.toString(8).padStart(length - 1, "0")}\0`;
  bytes.write(name, 0);
  bytes.write(octal(0o600, 8), 100);
  bytes.write(octal(0, 8), 108);
  bytes.write(octal(0, 8), 116);
  bytes.write(octal(size, 12), 124);
  bytes.write(octal(0, 12), 136);
  bytes.write(" ".repeat(8), 148);
  bytes.write(type, 156);
  bytes.write("ustar\u000000", 257);
  bytes.write(prefix, 345);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}

/** A ustar name has 100 bytes, and a directory before it 155. */
function splitName(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ["", path];
  const cut = path.lastIndexOf("/");
  const [prefix, name] = [path.slice(0, cut), path.slice(cut + 1)];
  if (Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100) {
    throw new CommandFailed(`The name ${path} is too long for a backup.`);
  }
  return [prefix, name];
}
