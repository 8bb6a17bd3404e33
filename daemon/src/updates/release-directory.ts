// A release of the daemon in a directory of this machine, such as the one in the package `hawser`.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DaemonManifest, readManifest, type PublishedFile } from "@hawser/host-protocol";

/** Limits what is read: a directory can contain anything under these names. */
const largestManifest = 64 * 1024;

/**
 * Throws ManifestRefused, or an error of the file system. A release that has expired is accepted: the expiry
 * date keeps a server from offering an old release as the present one. These files came with the program that
 * reads them, so an attacker who can replace them can replace the program.
 */
export function readReleaseDirectory(
  directory: string,
  trustedKeys: readonly string[],
): DaemonManifest {
  const [manifest, signature] = ["daemon.json", "daemon.json.sig"].map((file) =>
    readFileSync(join(directory, file)).subarray(0, largestManifest),
  );
  return readManifest(DaemonManifest, manifest!, signature!, trustedKeys, undefined);
}

/** The copy is on disk and as published when this returns. If it throws, the caller removes the copy. */
export async function copyPublished(
  source: string,
  { file, size, sha256 }: PublishedFile,
  target: string,
): Promise<void> {
  const hash = createHash("sha256");
  let copied = 0;
  const check = new Transform({
    transform(part: Buffer, _encoding, done) {
      hash.update(part);
      copied += part.length;
      if (copied > size) done(new Error(`${source} is not the ${file} that was signed.`));
      else done(undefined, part);
    },
  });
  const written = createWriteStream(target, { flush: true, mode: 0o600 });
  await pipeline(createReadStream(source, { highWaterMark: 1 << 20 }), check, written);
  if (copied < size || hash.digest("hex") !== sha256) {
    throw new Error(`${source} is not the ${file} that was signed.`);
  }
}
