// Places a published version of the daemon in the state directory, beside the others. A version is
// complete or absent: its files are gathered in a `.part` folder, which is then renamed.
import { createHash } from "node:crypto";
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { DaemonManifest, PublishedFile } from "@hawser/host-protocol";
import { replaceBy } from "../state/replace-file.ts";
import { nodePath, removeUnfinished, versionPath } from "../supervisor/versions.ts";

/** What a release has for one platform. */
export type Published = NonNullable<DaemonManifest["platforms"]["linux-x64"]>;

export interface Placing {
  /** The state directory. */
  directory: string;
  /** Copies a file of the release to `target`. Throws if it is not as published; the caller then removes it. */
  copy: (file: PublishedFile, target: string) => Promise<void>;
  /** Called when another step begins. */
  step: (step: string) => void;
}

/** Throws an error whose message is a sentence if the release has nothing for this machine. */
export function publishedForThis({ version, platforms }: DaemonManifest): Published {
  const platform = `${process.platform}-${process.arch}`;
  const published = (platforms as Record<string, Published | undefined>)[platform];
  if (!published) throw new Error(`Version ${version} is not published for ${platform}.`);
  return published;
}

/** Throws if a check fails or the disk is full, and then leaves nothing unfinished. */
export async function placeVersion(
  placing: Placing,
  version: string,
  published: Published,
): Promise<void> {
  const { directory } = placing;
  removeUnfinished(directory);
  try {
    // The installer makes the folder first, and may have been interrupted then.
    if (!existsSync(join(nodePath(directory, published.node.version), "node"))) {
      await placeNode(placing, published.node);
    }
    if (!isPlaced(directory, version, published)) await placeDaemon(placing, version, published);
  } catch (error) {
    removeUnfinished(directory);
    throw error;
  }
}

async function placeNode(placing: Placing, node: Published["node"]): Promise<void> {
  const place = nodePath(placing.directory, node.version);
  const part = gather(place);
  const packed = join(part, "node.gz");
  await placing.copy(node, packed);
  placing.step("unpacking");
  const unpacked = join(part, "node");
  await pipeline(
    createReadStream(packed),
    createGunzip(),
    createWriteStream(unpacked, { flush: true }),
  );
  chmodSync(unpacked, 0o755);
  rmSync(packed);
  rmSync(place, { recursive: true, force: true });
  replaceBy(part, place);
}

async function placeDaemon(placing: Placing, version: string, published: Published): Promise<void> {
  const place = versionPath(placing.directory, version);
  const part = gather(place);
  const program = join(part, "hawserd.mjs");
  await placing.copy(published.daemon, program);
  // All users of a separated host run it.
  chmodSync(program, 0o644);
  placing.step("placing");
  const node = join(nodePath(placing.directory, published.node.version), "node");
  symlinkSync(relative(place, node), join(part, "node"));
  rmSync(place, { recursive: true, force: true });
  replaceBy(part, place);
}

/** Placed by an earlier update that failed later, or by the installer. */
function isPlaced(directory: string, version: string, { daemon }: Published): boolean {
  const place = versionPath(directory, version);
  if (!existsSync(join(place, "node")) || !existsSync(join(place, "hawserd.mjs"))) return false;
  const hash = createHash("sha256").update(readFileSync(join(place, "hawserd.mjs")));
  return hash.digest("hex") === daemon.sha256;
}

function gather(place: string): string {
  const part = `${place}.part`;
  mkdirSync(dirname(place), { recursive: true });
  mkdirSync(part);
  return part;
}
