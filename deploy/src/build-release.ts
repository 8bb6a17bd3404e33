// One release of the daemon: the daemon as one JavaScript file, the Node that runs it, the manifest
// that names both, its signature, and the installer. A control plane serves the directory as it is.
//
// The trusted keys are built into the daemon and the installer. So an installed host accepts later
// versions only from the same publisher.
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { daemonVersion } from "@hawser/daemon/release.ts";
import { Platform, signManifest, type DaemonManifest } from "@hawser/host-protocol";
import { bundle } from "./bundle.ts";
import { hashFile, packNode } from "./pack-node.ts";
import type { ReleaseKeys } from "./release-keys.ts";

export interface ReleaseOptions {
  /** Created if it is missing; files of other versions in it stay. */
  out: string;
  keys: ReleaseKeys;
  /** Default: the daemon's own version. */
  version?: string;
  publishedAt?: Date;
  /** When the release expires; default: in 90 days. */
  expiresAt?: Date;
}

type PublishedFile = { file: string; sha256: string; size: number };

const goodForMs = 90 * 86_400_000;

export async function buildRelease(options: ReleaseOptions): Promise<DaemonManifest> {
  const { out, keys } = options;
  const version = options.version ?? daemonVersion;
  const publishedAt = options.publishedAt ?? new Date();
  const expiresAt = options.expiresAt ?? new Date(publishedAt.getTime() + goodForMs);
  mkdirSync(out, { recursive: true });
  const trustedKeys = keys.keys.map(({ publicKey }) => publicKey);
  const file = `hawserd-${version}.mjs`;
  const release = JSON.stringify({ version, trustedKeys });
  await bundle("@hawser/daemon/main.ts", join(out, file), { hawserRelease: release });
  const daemon = await describe(out, file);
  const platforms: DaemonManifest["platforms"] = {};
  for (const platform of Platform.options) {
    const node = await packNode(out, platform);
    if (!node) continue;
    const { version: nodeVersion, file: nodeFile } = node;
    platforms[platform] = {
      daemon,
      node: { version: nodeVersion, ...(await describe(out, nodeFile)) },
    };
  }
  const manifest: DaemonManifest = {
    type: "hawser daemon",
    version,
    publishedAt: publishedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    platforms,
  };
  // The installer reads it line by line, so the layout is part of the format.
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  const installer = readFileSync(new URL("../install.sh", import.meta.url), "utf8");
  const [first = "", second = ""] = trustedKeys;
  writeFileSync(
    join(out, "install.sh"),
    installer.replace("{{key 1}}", first).replace("{{key 2}}", second),
  );
  // A host that downloads meanwhile finds that the signature does not match, and tries again.
  replace(join(out, "daemon.json.sig"), signManifest(keys.keys[0].privateKey, text));
  replace(join(out, "daemon.json"), text);
  return manifest;
}

async function describe(out: string, file: string): Promise<PublishedFile> {
  const path = join(out, file);
  return { file, sha256: await hashFile(path), size: statSync(path).size };
}

function replace(path: string, content: string | Buffer): void {
  writeFileSync(`${path}.next`, content);
  renameSync(`${path}.next`, path);
}
