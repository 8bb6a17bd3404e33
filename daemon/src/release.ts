// What a release bakes into the bundled daemon: its version, and whose later releases it takes. Run
// from the sources there is neither a release nor anybody trusted.
import manifest from "../package.json" with { type: "json" };

interface Release {
  version: string;
  /** Ed25519 public keys in base64. */
  trustedKeys: readonly string[];
}

/** Put in by the bundler, in place of the name. */
declare const hawserRelease: Release | undefined;

const release: Release =
  typeof hawserRelease === "undefined"
    ? { version: manifest.version, trustedKeys: [] }
    : hawserRelease;

export const daemonVersion = release.version;
export const trustedKeys = release.trustedKeys;
