// Releases that a host must not install: damaged, expired, too old, signed by another key, or not working.
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renamed, type Releases } from "@hawser/testkit/release.ts";

/** Programs that a publisher could sign by mistake. */
const crashes = () => `console.error("no luck"); process.exit(7);`;
const neverReady = () =>
  `setInterval(() => {}, 1000); process.on("disconnect", () => process.exit());`;
const neverOnline = () =>
  `${neverReady()} process.send({ say: "ready" }); process.on("message", () => {});`;

interface BadRelease {
  name: string;
  /** Publishes something that must not, or cannot, be put in place. */
  publish: (releases: Releases) => void;
  /** Words of the warning that the host's owner reads. */
  says: RegExp;
  /** Detected before the host accepts the order, so the caller is refused. */
  refused?: boolean;
}

const programOf = (releases: Releases, version: string) =>
  join(releases.directory, `hawserd-${version}.mjs`);

export const badReleases: BadRelease[] = [
  {
    name: "a flipped byte in the program",
    publish(releases) {
      releases.publishProgram("0.3.0", renamed("0.3.0"));
      const bytes = readFileSync(programOf(releases, "0.3.0"));
      bytes[5000]! ^= 1;
      writeFileSync(programOf(releases, "0.3.0"), bytes);
    },
    says: /hawserd-0\.3\.0\.mjs is not the file that was signed/,
  },
  {
    name: "a flipped byte in the manifest",
    publish(releases) {
      releases.publishProgram("0.3.1", renamed("0.3.1"));
      const path = join(releases.directory, "daemon.json");
      writeFileSync(path, readFileSync(path, "utf8").replace('"0.3.1"', '"0.3.9"'));
    },
    says: /not signed by a key that is trusted/,
    refused: true,
  },
  {
    name: "an old version, signed in its time",
    publish: (releases) => releases.publishProgram("0.0.9", renamed("0.0.9")),
    says: /publishes version 0\.0\.9, and 0\.1\.0 has run here/,
    refused: true,
  },
  {
    name: "an expired manifest",
    publish(releases) {
      releases.publishProgram("0.3.3", renamed("0.3.3"));
      releases.alter({ expiresAt: new Date(Date.now() - 1000).toISOString() });
    },
    says: /was good until/,
    refused: true,
  },
  {
    name: "the right server with a signature of somebody else's",
    publish(releases) {
      releases.publishProgram("0.3.4", renamed("0.3.4"));
      releases.alter({}, "stranger");
    },
    says: /not signed by a key that is trusted/,
    refused: true,
  },
  {
    name: "a truncated program",
    publish(releases) {
      releases.publishProgram("0.3.5", renamed("0.3.5"));
      truncateSync(programOf(releases, "0.3.5"), 100_000);
    },
    says: /ended after 100000 of \d+ bytes/,
  },
  {
    name: "a program that is longer than it should be",
    publish(releases) {
      releases.publishProgram("0.3.6", renamed("0.3.6"));
      appendFileSync(programOf(releases, "0.3.6"), "x".repeat(100_000));
    },
    says: /longer than it should be/,
  },
  {
    name: "a version that crashes at its start",
    publish: (releases) => releases.publishProgram("0.4.0", crashes),
    says: /it ended with code 7 before it said "ready"/,
  },
  {
    name: "a version that never gets ready",
    publish: (releases) => releases.publishProgram("0.4.1", neverReady),
    says: /it did not say "ready" within/,
  },
  {
    name: "a version that never reports in",
    publish: (releases) => releases.publishProgram("0.4.2", neverOnline),
    says: /it did not say "online" within/,
  },
];
