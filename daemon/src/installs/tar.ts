// Reads tar archives as npm writes them: POSIX ustar with pax headers, regular files and directories, all
// below one directory, which npm calls `package`. Everything else is refused, not skipped: links, devices, names that lead elsewhere. No
// agent's package needs them.
import { InstallRefused } from "./refused.ts";

export interface TarEntry {
  type: "file" | "directory";
  /** Path below the top directory; empty for that directory itself. */
  path: string[];
  isExecutable: boolean;
  size: number;
  /** Read it before the next entry; unread bytes are skipped. */
  content: AsyncIterable<Buffer>;
}

const block = 512;
const largestPaxHeader = 64 * 1024;
const mostEntries = 100_000;

export async function* readTar(
  source: AsyncIterable<Buffer>,
  top = "package",
): AsyncGenerator<TarEntry> {
  const bytes = openBytes(source);
  let pax: Record<string, string> = {};
  for (let entries = 0; ; entries++) {
    if (entries > mostEntries) throw damaged("it has too many entries");
    const header = await bytes.read(block);
    // Two blocks of zeros end an archive; the rest is padding.
    if (header.every((byte) => byte === 0)) return;
    const { name, mode, size: ownSize, type } = readHeader(header);
    if (type === "x" || type === "g") {
      if (ownSize > largestPaxHeader) throw damaged("a header is too long");
      const records = readPax(await bytes.read(ownSize));
      await bytes.read(padding(ownSize));
      // Headers for the whole archive describe its origin, not a file.
      if (type === "x") pax = records;
      continue;
    }
    const fullName = pax["path"] ?? name;
    const size = pax["size"] === undefined ? ownSize : readNumber(pax["size"], 10);
    pax = {};
    const kind = { "0": "file", "\0": "file", "5": "directory" }[type] as TarEntry["type"];
    if (!kind) throw damaged(`"${fullName}" is neither a file nor a directory`);
    if (kind === "directory" && size > 0)
      throw damaged(`the directory "${fullName}" has a content`);
    const path = placeOf(top, fullName, kind);
    const content = bytes.take(size);
    yield { type: kind, path, isExecutable: (mode & 0o111) !== 0, size, content };
    for await (const _rest of content) {
    }
    await bytes.read(padding(size));
  }
}

const padding = (size: number) => (block - (size % block)) % block;

const damaged = (why: string) => new InstallRefused("damaged", `The package is refused: ${why}.`);

function readHeader(header: Buffer) {
  let sum = 0;
  // The sum is computed as if its own field contained spaces.
  header.forEach((byte, at) => (sum += at >= 148 && at < 156 ? 32 : byte));
  if (readNumber(field(header, 148, 8), 8) !== sum) throw damaged("a header is damaged");
  if (header.toString("latin1", 257, 262) !== "ustar") throw damaged("it is no ustar archive");
  const prefix = field(header, 345, 155);
  const name = field(header, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    mode: readNumber(field(header, 100, 8), 8),
    size: readNumber(field(header, 124, 12), 8),
    type: header.toString("latin1", 156, 157),
  };
}

/** A text field, up to its first zero. */
function field(header: Buffer, start: number, length: number): string {
  const bytes = header.subarray(start, start + length);
  const end = bytes.indexOf(0);
  return readText(end === -1 ? bytes : bytes.subarray(0, end));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
function readText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw damaged("a header is not text");
  }
}

function readNumber(text: string, base: 8 | 10): number {
  const digits = text.trim();
  const isPlain = base === 8 ? /^[0-7]{1,12}$/.test(digits) : /^\d{1,15}$/.test(digits);
  if (!isPlain) throw damaged("a header holds no number where one belongs");
  return Number.parseInt(digits, base);
}

/** Records of `length key=value\n`, the length counting itself. */
function readPax(bytes: Buffer): Record<string, string> {
  const records: Record<string, string> = {};
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(32, at);
    const length = readNumber(bytes.toString("latin1", at, space === -1 ? at : space), 10);
    const record = readText(bytes.subarray(space + 1, at + length));
    const equals = record.indexOf("=");
    if (
      length <= space - at ||
      at + length > bytes.length ||
      equals < 1 ||
      !record.endsWith("\n")
    ) {
      throw damaged("a pax header is damaged");
    }
    records[record.slice(0, equals)] = record.slice(equals + 1, -1);
    at += length;
  }
  return records;
}

function placeOf(top: string, name: string, type: TarEntry["type"]): string[] {
  const [first, ...path] = (type === "directory" ? name.replace(/\/$/, "") : name).split("/");
  const leadsAway = path.some((part) => part === "" || part === "." || part === "..");
  if (first !== top || leadsAway || name.includes("\0") || (type === "file" && !path.length)) {
    throw damaged(`the name ${JSON.stringify(name)} leads out of it`);
  }
  return path;
}

/** Reads a stream of chunks in the sizes that are asked for. */
function openBytes(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);

  async function* take(count: number): AsyncGenerator<Buffer> {
    for (let missing = count; missing > 0;) {
      while (rest.length === 0) {
        const next = await chunks.next();
        if (next.done) throw damaged("it ends too early");
        rest = next.value;
      }
      const part = rest.subarray(0, missing);
      rest = rest.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }

  return {
    take,
    async read(count: number): Promise<Buffer> {
      const parts: Buffer[] = [];
      for await (const part of take(count)) parts.push(part);
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    },
  };
}
