// Releases of the daemon for tests: built as they are published, into a directory that a node serves
// (HAWSER_RELEASES), and gone with it.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildRelease, type ReleaseOptions } from "@hawser/deploy/build-release.ts";
import { publishAgents, shippedAgents, type AgentsOptions } from "@hawser/deploy/publish-agents.ts";
import { makeReleaseKeys, type ReleaseKeys } from "@hawser/deploy/release-keys.ts";
import { signManifest } from "@hawser/host-protocol";

type Published = Awaited<ReturnType<typeof buildRelease>>;

export interface Releases extends Disposable {
  directory: string;
  keys: ReleaseKeys;
  /** Publishes a version in place of the one before, signed with the first key unless others are given. */
  publish: (options?: Partial<ReleaseOptions>) => Promise<Published>;
  /** Changes fields of the published manifest, and signs it, with a key that nobody trusts if a stranger is to. */
  alter: (change: Partial<Published>, signer?: "publisher" | "stranger") => void;
  /** Publishes, as this version, the program that this makes of the first one. Takes no bundling. */
  publishProgram: (version: string, change: (program: string, from: string) => string) => void;
  /** Publishes a list of agents in place of the one before; the one that is shipped, unless given. */
  publishAgents: (options?: Partial<AgentsOptions>) => void;
  /** The bundled daemon of the version that was published last. */
  daemon: () => string;
}

/** The same daemon, calling itself by another version. */
export const renamed = (version: string) => (program: string, from: string) =>
  program.replaceAll(`version: "${from}"`, `version: "${version}"`);

/** With one release in it already: the daemon as it is, under its own version. */
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
  const alter: Releases["alter"] = (change, signer = "publisher") => {
    const [{ privateKey }] = (signer === "stranger" ? makeReleaseKeys() : keys).keys;
    const file = join(directory, "daemon.json");
    const manifest = JSON.parse(readFileSync(file, "utf8")) as Published;
    const text = `${JSON.stringify({ ...manifest, ...change }, undefined, 2)}\n`;
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
    daemon: () => daemon,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export { shippedAgents, type AgentsOptions };
