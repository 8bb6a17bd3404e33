// The package `hawser`: a launcher for any Node since 18, the command line and the control plane as one file
// each, the migrations, the dashboard, a release of the daemon, and the signed list of engines. It has no dependencies and
// no scripts.
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine, EngineList } from "@hawser/cli/engines/engine-list.ts";
import { daemonVersion } from "@hawser/daemon/release.ts";
import { signManifest } from "@hawser/host-protocol";
import { buildRelease } from "./build-release.ts";
import { buildPages } from "./build-pages.ts";
import { bundle, bundleForOldNode } from "./bundle.ts";
import { publishAgents } from "./publish-agents.ts";
import type { ReleaseKeys } from "./release-keys.ts";

export interface PackageOptions {
  keys: ReleaseKeys;
  /** The engines that `hawser up` may download. */
  engines: Engine[];
  /** When the release of the daemon in it expires; default: in 90 days. */
  expiresAt?: Date;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Writes the contents of the package into a directory, which is emptied first. */
export async function buildPackage(directory: string, options: PackageOptions): Promise<void> {
  const { keys, engines, expiresAt } = options;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const publication = {
    out: join(directory, "releases"),
    keys,
    ...(expiresAt && { expiresAt }),
  };
  await buildRelease(publication);
  publishAgents(publication);
  // Node is 45 MB for each platform: the package of the engine contains the same file.
  for (const file of globSync(join(publication.out, "node-*.gz"))) rmSync(file);
  await bundlePrograms(directory, keys);
  // The control plane finds them two directories above its file, as it does in the sources.
  cpSync(join(root, "control-plane/migrations"), join(directory, "migrations"), {
    recursive: true,
  });
  // And these, beside the migrations.
  const packagesOfPages = buildPages(join(directory, "pages"));
  // Examples of answers, which the control plane reads beside its file.
  cpSync(
    join(root, "control-plane/src/examples.json"),
    join(directory, "lib/server/examples.json"),
  );
  writeEngineList(join(directory, "engines"), keys, engines);
  cpSync(join(root, "LICENSE"), join(directory, "LICENSE"));
  cpSync(join(root, "README.md"), join(directory, "README.md"));
  writeFileSync(join(directory, "THIRD-PARTY.txt"), licencesOf(directory, packagesOfPages));
  writeFileSync(
    join(directory, "package.json"),
    `${JSON.stringify(packageManifest(), undefined, 2)}\n`,
  );
}

async function bundlePrograms(directory: string, { keys }: ReleaseKeys): Promise<void> {
  const trustedKeys = keys.map(({ publicKey }) => publicKey);
  const define = { hawserRelease: JSON.stringify({ version: daemonVersion, trustedKeys }) };
  const server = join(directory, "lib/server");
  const launcher = join(directory, "bin/hawser.cjs");
  await Promise.all([
    bundle("@hawser/cli/main.ts", join(server, "hawser.mjs"), define),
    bundle("@hawser/control-plane/main.ts", join(server, "control-plane.mjs")),
    bundleForOldNode("cli/launcher/main.ts", launcher, define),
  ]);
  chmodSync(launcher, 0o755);
}

function writeEngineList(directory: string, keys: ReleaseKeys, engines: Engine[]): void {
  const list: EngineList = {
    type: "hawser engines",
    publishedAt: new Date().toISOString(),
    engines,
  };
  const text = `${JSON.stringify(list, undefined, 2)}\n`;
  mkdirSync(directory);
  writeFileSync(join(directory, "engines.json"), text);
  writeFileSync(join(directory, "engines.json.sig"), signManifest(keys.keys[0].privateKey, text));
}

/** What npm reads. `engines` is the launcher's floor: it brings the Node that the rest needs. */
function packageManifest() {
  const { description, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    description: string;
    license: string;
  };
  return {
    name: "hawser",
    version: daemonVersion,
    description,
    license,
    bin: { hawser: "bin/hawser.cjs" },
    engines: { node: ">=18.18" },
  };
}

/**
 * The licence texts of the npm packages whose code is in the bundles, where each part names its file, or in the
 * dashboard.
 */
function licencesOf(directory: string, packagesOfPages: string[]): string {
  const named = globSync("{bin,lib/server,releases}/*.{cjs,mjs}", { cwd: directory })
    .map((file) => readFileSync(join(directory, file), "utf8"))
    .flatMap((text) => [...text.matchAll(/^ *\/\/ (.*node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\//gm)])
    .map(([, path]) => path!);
  const texts = [...new Set([...named, ...packagesOfPages])].sort().map((path) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, path, "package.json"), "utf8"),
    ) as { name: string; version: string; license?: string };
    const files = globSync("{LICENSE,LICENCE,License,license,NOTICE}*", { cwd: join(root, path) });
    const text = files.sort().map((file) => readFileSync(join(root, path, file), "utf8"));
    return `==== ${name} ${version} (${license ?? "see below"}) ====\n\n${text.join("\n")}`;
  });
  return `Programs in this package contain code of these npm packages.\n\n${texts.join("\n\n")}`;
}
