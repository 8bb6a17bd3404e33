// Releases of the daemon for tests, built like published ones, in a temporary directory that a node serves
// (HAWSER_RELEASES).
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildRelease, type ReleaseOptions } from "@hawser/deploy/build-release.ts";
import { publishAgents, shippedAgents, type AgentsOptions } from "@hawser/deploy/publish-agents.ts";
import { makeReleaseKeys, nextReleaseKeys, type ReleaseKeys } from "@hawser/deploy/release-keys.ts";
import { signManifest } from "@hawser/host-protocol";

type Published = Awaited<ReturnType<typeof buildRelease>>;

export interface Releases extends Disposable {
  directory: string;
  keys: ReleaseKeys;
  /** Replaces the published version. Signs it with these keys; by default with the first key. */
  publish: (options?: Partial<ReleaseOptions>) => Promise<Published>;
  /** Changes fields of the published manifest and signs it; if `stranger`, with an untrusted key. */
  alter: (change: Partial<Published>, signer?: "publisher" | "stranger") => void;
  /** Publishes this version of the program, made by changing the text of the first one instead of bundling. */
  publishProgram: (version: string, change: (program: string, from: string) => string) => void;
  /** Replaces the published list of agents; by default with the shipped one. */
  publishAgents: (options?: Partial<AgentsOptions>) => void;
  /** The manifest that is published now. */
  manifest: () => Published;
  /** Path of the bundled daemon of the version that was published last. */
  daemon: () => string;
}

/** Makes the same daemon report another version. */
export const renamed = (version: string) => (program: string, from: string) =>
  program.replaceAll(`version: "${from}"`, `version: "${version}"`);

/** Publishes one release at once: the present daemon under its own version. */
export async function openReleases(options: Partial<ReleaseOptions> = {}): Promise<Releases> {
  const directory = mkdtempSync(join(tmpdir(), "hawser-releases-"));
  const keys = makeReleaseKeys();
  let daemon = "";
  const publish: Releases["publish"] = async (more) => {
    const published = await buildRelease({ out: directory, keys, ...options, ...more });
    daemon = join(directory, `hawserd-${published.version}.mjs`);
    return published;
  };
  const first = await publish();
  const [firstFiles] = Object.values(first.platforms);
  const program = readFileSync(join(directory, firstFiles!.daemon.file), "utf8");
  const manifest = () =>
    JSON.parse(readFileSync(join(directory, "daemon.json"), "utf8")) as Published;
  const alter: Releases["alter"] = (change, signer = "publisher") => {
    const [{ privateKey }] = (signer === "stranger" ? makeReleaseKeys() : keys).keys;
    const file = join(directory, "daemon.json");
    const text = `${JSON.stringify({ ...manifest(), ...change }, undefined, 2)}\n`;
    writeFileSync(file, text);
    writeFileSync(`${file}.sig`, signManifest(privateKey, text));
  };
  const publishProgram: Releases["publishProgram"] = (version, change) => {
    const file = `hawserd-${version}.mjs`;
    const text = change(program, first.version);
    writeFileSync(join(directory, file), text);
    const sha256 = createHash("sha256").update(text).digest("hex");
    const daemon = { file, sha256, size: Buffer.byteLength(text) };
    const platforms: Published["platforms"] = Object.fromEntries(
      Object.entries(first.platforms).map(([name, { node }]) => [name, { daemon, node }]),
    );
    alter({ ...first, version, platforms });
  };
  return {
    directory,
    keys,
    publish,
    alter,
    publishProgram,
    publishAgents: (more) => void publishAgents({ out: directory, keys, ...more }),
    manifest,
    daemon: () => daemon,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export { nextReleaseKeys, shippedAgents, type AgentsOptions };
