// What a release builds into the bundled daemon: its version, and the keys of the releases it accepts as
// updates. A daemon that runs from the sources has no release and trusts no key.
import manifest from "../package.json" with { type: "json" };

interface Release {
  version: string;
  /** Ed25519 public keys in base64. */
  trustedKeys: readonly string[];
}

/** The bundler replaces this name with the release. */
declare const hawserRelease: Release | undefined;

const release: Release =
  typeof hawserRelease === "undefined"
    ? { version: manifest.version, trustedKeys: [] }
    : hawserRelease;

export const daemonVersion = release.version;
export const trustedKeys = release.trustedKeys;
