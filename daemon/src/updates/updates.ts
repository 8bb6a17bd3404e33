// Replaces this daemon with the version that the service publishes. The release is checked before anything
// is written, and the files are checked before they are started. The supervisor switches to the new version
// only when that works. Whatever fails, this daemon continues and reports why.
import { statfsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { isNewer, type DaemonManifest, type PublishedFile } from "@hawser/host-protocol";
import type { FactReader } from "../facts.ts";
import { describe, type Log } from "../log.ts";
import type { Operations } from "../operations.ts";
import { daemonVersion, trustedKeys } from "../release.ts";
import { placeVersion, publishedForThis, type Published } from "./place-version.ts";
import { download, readPublished } from "./published.ts";
import { clearFailure, noteFailure, readUpdates, type UpdateFailure } from "./record.ts";

export interface UpdateOptions {
  /** The state directory. */
  directory: string;
  serverUrl: string;
  /** The time by the service's clock, in milliseconds. */
  now: () => number;
  operations: Operations;
  log: Log;
  /** Reads the host's facts again and reports them. */
  refresh: () => Promise<unknown>;
  /** Why the last update failed, if it did. */
  failed?: UpdateFailure | undefined;
  /** Starts that version instead of this one. Rejects if that failed; otherwise never settles. */
  startVersion: (version: string) => Promise<never>;
}

export interface Updates {
  /** Resolves when the update has begun, not when it is done. Throws the reason if it cannot begin. */
  order: () => Promise<{ status: "installed" | "in_progress"; version: string }>;
  readFacts: FactReader;
}

export function createUpdates(options: UpdateOptions): Updates {
  const { directory, serverUrl, operations, log } = options;
  let running: string | undefined;
  let failed = options.failed;

  async function fail(failure: UpdateFailure): Promise<void> {
    failed = failure;
    log.warn("update", { step: "failed", ...failure });
    try {
      noteFailure(directory, failure);
    } catch (error) {
      // Reported from memory until the next start.
      log.warn("could not record why the update failed", { error: describe(error) });
    }
    await options.refresh();
  }

  /** Clears the failure of an earlier update. */
  function forget(): void {
    failed = undefined;
    try {
      clearFailure(directory);
    } catch (error) {
      log.warn("could not clear the failure of an earlier update", { error: describe(error) });
    }
    void options.refresh();
  }

  /** The hand-over would interrupt a clone or an install. */
  const isBusy = () =>
    operations.list().some(({ type, state }) => state === "running" && type !== "update_daemon");

  async function run(version: string, published: Published): Promise<void> {
    await operations.run("update_daemon", `daemon ${version}`, async (step) => {
      try {
        let last = "";
        let lastPercent: number | undefined;
        const report = (name: string, percent?: number) => {
          if (name === last && percent === lastPercent) return;
          if (name !== last) log.info("update", { step: (last = name), version });
          step(name, (lastPercent = percent));
        };
        const copy = (file: PublishedFile, target: string) =>
          download(serverUrl, file, target, (bytes) => {
            report(`downloading ${file.file}`, Math.floor((bytes / file.size) * 100));
          });
        await placeVersion({ directory, copy, step: report }, version, published);
        report("placed");
        if (isBusy()) report("waiting for what the host is doing");
        for (const since = performance.now(); isBusy() && performance.now() - since < patienceMs;)
          await pause(200);
        checkRoom(directory);
        await options.startVersion(version);
      } catch (error) {
        await fail({ version, reason: describe(error) });
        throw error;
      }
    });
  }

  return {
    async order() {
      if (running) return { status: "in_progress", version: running };
      let manifest: DaemonManifest | undefined;
      try {
        manifest = await readPublished(serverUrl, trustedKeys, options.now);
        const { version } = manifest;
        if (version === daemonVersion) {
          forget();
          return { status: "installed", version };
        }
        const published = choose(manifest, directory);
        running = version;
        void run(version, published)
          .catch(() => {})
          .finally(() => (running = undefined));
        return { status: "in_progress", version };
      } catch (error) {
        await fail({ version: manifest?.version ?? "unknown", reason: describe(error) });
        throw error;
      }
    },
    readFacts: () =>
      Promise.resolve({
        warnings: failed ? [{ code: "update_failed", message: sentence(failed) }] : [],
      }),
  };
}

/** As long as a clone may take. */
const patienceMs = 30 * 60_000;

/** On a disk that is nearly full, the old daemon could not open its journal again after a failure. */
const leastFreeBytes = 4_000_000;

function checkRoom(directory: string): void {
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize >= leastFreeBytes) return;
  throw new Error("The disk is nearly full: less than 4 MB are free. Free some space.");
}

function choose(manifest: DaemonManifest, directory: string): Published {
  const { version } = manifest;
  const { highest = daemonVersion } = readUpdates(directory);
  const least = isNewer(highest, daemonVersion) ? highest : daemonVersion;
  if (isNewer(least, version)) {
    throw new Error(
      `The service publishes version ${version}, and ${least} has run here. A daemon is never replaced by an older one.`,
    );
  }
  return publishedForThis(manifest);
}

export function sentence({ version, reason }: UpdateFailure): string {
  return `The daemon was not updated${version === "unknown" ? "" : ` to ${version}`}, and keeps its version. ${reason}`;
}
