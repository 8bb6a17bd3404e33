// Writes a directory as npm's tarball: every file below `package/`. The same files give the same bytes, so a
// package can be built again and compared with the signed list.
import { createReadStream, createWriteStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

const block = 512;
/** npm writes this date into every package. */
const date = Date.parse("1985-10-26T08:15:00Z") / 1000;

export async function writeTarball(directory: string, file: string): Promise<void> {
  await pipeline(Readable.from(tarOf(directory)), createGzip(), createWriteStream(file));
}

async function* tarOf(directory: string): AsyncGenerator<Buffer> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  for (const path of paths.sort()) {
    const { size, mode } = statSync(join(directory, path));
    yield headerOf(`package/${path}`, size, (mode & 0o111) === 0 ? 0o644 : 0o755);
    const chunks = createReadStream(join(directory, path), { highWaterMark: 1 << 20 });
    for await (const chunk of chunks) yield chunk as Buffer;
    yield Buffer.alloc((block - (size % block)) % block);
  }
  yield Buffer.alloc(2 * block);
}

function headerOf(name: string, size: number, mode: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for a package.`);
  const header = Buffer.alloc(block);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0);
  header.write(octal(mode, 7), 100);
  header.write(octal(size, 11), 124);
  header.write(octal(date, 11), 136);
  // The checksum is computed as if its own field contained spaces.
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\0", 257);
  header.write("00", 263);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}
