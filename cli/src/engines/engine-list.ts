// The signed list of engines in the package: PostgreSQL, nats-server and Node, as npm packages with size and
// hash. The launcher reads it too, on any Node since 18, so this file imports only what Node has.
import { createHash, createPublicKey, verify } from "node:crypto";
import { createReadStream, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

export type EngineName = "postgres" | "nats" | "node";

/** One engine for one platform. */
export interface Engine {
  name: EngineName;
  /** Three numbers, as npm wants them: PostgreSQL 18.6 is 18.6.0. */
  version: string;
  /** In Node's names, with glibc: `linux-x64`. */
  platform: string;
  /** npm's name of the package. */
  package: string;
  /** The tarball, by its path below the address of the registry. */
  path: string;
  /** Size of the tarball in bytes. */
  size: number;
  /** Hash of the tarball in base64, as in npm's lock files. */
  sha512: string;
  /** Hash of the unpacked files, see `hashFiles`. */
  files: string;
  /** Size of the unpacked files in bytes. */
  unpackedSize: number;
}

export interface EngineList {
  type: "hawser engines";
  /** For readers only: the list is in the package that it belongs to, so its age is the package's (0074). */
  publishedAt: string;
  engines: Engine[];
}

/** undefined if the package contains no list. Throws if a trusted key did not sign it. */
export function readEngineList(
  packageDirectory: string,
  trustedKeys: readonly string[],
): EngineList | undefined {
  const file = join(packageDirectory, "engines/engines.json");
  let bytes: Buffer;
  let signature: Buffer;
  try {
    bytes = readFileSync(file);
    signature = readFileSync(`${file}.sig`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const isGenuine = trustedKeys.some((key) => isSignedBy(key, bytes, signature));
  const list = isGenuine ? (JSON.parse(bytes.toString()) as EngineList) : undefined;
  // The type prevents the use of another signed list in its place.
  if (list?.type === "hawser engines") return list;
  throw new Error(
    `The list of engines in ${file} is not signed by the publisher of this package. Install hawser again.`,
  );
}

/** `key`: an Ed25519 public key in base64. */
function isSignedBy(key: string, bytes: Buffer, signature: Buffer): boolean {
  const x = Buffer.from(key, "base64").toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return signature.length === 64 && verify(null, bytes, publicKey, signature);
}

/** This machine's platform in Node's names; with `-musl` if its C library is musl. */
export function platformHere(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return platform;
  // Node was built for the machine's C library, so the running program knows which one it is.
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  // Without it, the report looks up the names of all connections.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined ? `${platform}-musl` : platform;
}

/**
 * One hash for all files of a package except package.json, which package managers may rewrite: the sha512 of
 * lines `<sha512> <path>`, sorted by path, in base64.
 */
export async function hashFiles(directory: string): Promise<string> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    // Node 18 has the directory as `path`, later ones as `parentPath`.
    .map((entry) =>
      join(entry.parentPath ?? (entry as unknown as { path: string }).path, entry.name),
    )
    .map((path) => path.slice(directory.length + 1))
    .filter((path) => path !== "package.json");
  const all = createHash("sha512");
  for (const path of paths.sort()) {
    const hash = createHash("sha512");
    await pipeline(createReadStream(join(directory, path), { highWaterMark: 1 << 20 }), hash);
    all.update(`${hash.digest("hex")} ${path}\n`);
  }
  return all.digest("base64");
}
