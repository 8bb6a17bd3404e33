// Unpacks one of npm's tarballs into a directory and flushes it to disk. Nothing in it is run. Only new
// files are made: a name that exists is refused.
import { createReadStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createGunzip } from "node:zlib";
import { InstallRefused } from "./refused.ts";
import { readTar } from "./tar.ts";

export interface Unpacking {
  tarball: string;
  /** Created if it is missing. */
  into: string;
  /** Limit for the unpacked bytes, whatever the tarball says. */
  limitBytes: number;
  /** Called with the number of bytes of the tarball that were read. */
  onBytes: (count: number) => void;
  signal: AbortSignal;
}

/** Returns the number of unpacked bytes. Throws InstallRefused, or the disk's error. */
export async function unpack(unpacking: Unpacking): Promise<number> {
  const { tarball, into, limitBytes, onBytes, signal } = unpacking;
  const directories = new Set<string>();
  const makeDirectory = async (path: string) => {
    await mkdir(path, { recursive: true, mode: 0o755 });
    for (let at = path; !directories.has(at) && at.startsWith(into); at = dirname(at)) {
      directories.add(at);
    }
  };
  await makeDirectory(into);
  const file = createReadStream(tarball, { highWaterMark: 1 << 20, signal });
  file.on("data", (chunk) => onBytes(chunk.length));
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  file.on("error", (error) => gunzip.destroy(error));
  file.pipe(gunzip);
  let unpacked = 0;
  try {
    for await (const entry of readTar(gunzip as AsyncIterable<Buffer>)) {
      const path = join(into, ...entry.path);
      if (entry.type === "directory") {
        await makeDirectory(path);
        continue;
      }
      unpacked += entry.size;
      if (unpacked > limitBytes) {
        const message = `The package is refused: it is larger than ${limitBytes} bytes.`;
        throw new InstallRefused("damaged", message);
      }
      await makeDirectory(dirname(path));
      await writeNew(path, entry.isExecutable ? 0o755 : 0o644, entry.content);
    }
  } catch (error) {
    throw isDamage(error)
      ? new InstallRefused("damaged", "The package is refused: it cannot be unpacked.", {
          cause: error,
        })
      : error;
  } finally {
    file.destroy();
    gunzip.destroy();
  }
  for (const directory of directories) await flushDirectory(directory);
  return unpacked;
}

async function writeNew(path: string, mode: number, content: AsyncIterable<Buffer>): Promise<void> {
  const handle = await open(path, "wx", mode);
  try {
    for await (const part of content) await handle.writeFile(part);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function flushDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether the archive is to blame and not the disk: errors of zlib, and names that collide. */
function isDamage(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code.startsWith("Z_") || ["EEXIST", "EISDIR", "ENOTDIR", "ENAMETOOLONG"].includes(code);
}
