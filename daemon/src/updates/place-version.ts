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
import type { DaemonManifest } from "@hawser/host-protocol";
import { replaceBy } from "../state/replace-file.ts";
import { nodePath, removeUnfinished, versionPath } from "../supervisor/versions.ts";
import { download } from "./published.ts";

type Published = NonNullable<DaemonManifest["platforms"]["linux-x64"]>;

export interface Placing {
  directory: string;
  serverUrl: string;
  step: (step: string, percent?: number) => void;
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
    if (!existsSync(nodePath(directory, published.node.version))) {
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
  await fetchTo(placing, node, packed);
  placing.step("unpacking");
  const unpacked = join(part, "node");
  await pipeline(
    createReadStream(packed),
    createGunzip(),
    createWriteStream(unpacked, { flush: true }),
  );
  chmodSync(unpacked, 0o755);
  rmSync(packed);
  replaceBy(part, place);
}

async function placeDaemon(placing: Placing, version: string, published: Published): Promise<void> {
  const place = versionPath(placing.directory, version);
  const part = gather(place);
  const program = join(part, "hawserd.mjs");
  await fetchTo(placing, published.daemon, program);
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

function fetchTo(
  { serverUrl, step }: Placing,
  file: Published["daemon"],
  target: string,
): Promise<void> {
  let reported = -1;
  return download(serverUrl, file, target, (bytes) => {
    const percent = Math.floor((bytes / file.size) * 100);
    if (percent !== reported) step(`downloading ${file.file}`, (reported = percent));
  });
}
