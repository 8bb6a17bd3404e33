// Node's executable as one gzipped file, which a release names, an engine package contains and hosts download.
// All three have the same bytes.
import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(repository, "node_modules/.cache/hawser-release");

/** Returns the version and the file's name in `out`; undefined if this machine has no Node for the platform. */
export async function packNode(out: string, platform: string) {
  const require = createRequire(import.meta.url);
  let manifestPath: string;
  try {
    manifestPath = require.resolve(`node-${platform}/package.json`);
  } catch {
    return undefined;
  }
  const { version } = JSON.parse(readFileSync(manifestPath, "utf8")) as { version: string };
  const executable = join(dirname(manifestPath), "bin/node");
  const packed = join(cache, `${await hashFile(executable)}.gz`);
  // Packing 120 MB takes seconds, and the same bytes are packed for every release.
  if (!existsSync(packed)) {
    mkdirSync(cache, { recursive: true });
    const next = `${packed}.${process.pid}`;
    await pipeline(createReadStream(executable), createGzip(), createWriteStream(next));
    renameSync(next, packed);
  }
  const file = `node-${version}-${platform}.gz`;
  copyFileSync(packed, join(out, file), constants.COPYFILE_FICLONE);
  return { version, file };
}

/** The sha256 of a file. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}
