// The host's directories as callers may see them: the roots of the policy, the projects below them, and the
// contents of a directory. Only directories, never files; links are not followed; git's own directory is not
// shown.
import { opendirSync } from "node:fs";
import { join } from "node:path";
import type { DirectoryRecord, HostWarning, RootListing, RootRecord } from "@hawser/contract";
import type { Policy } from "../policy/policy.ts";
import {
  findRoots,
  openBelowRoots,
  rootOf,
  type PlaceBelowRoot,
  type Root,
} from "./below-roots.ts";
import { createGitFacts } from "./git-facts.ts";
import { cutToFit, sizeOf } from "./reply-size.ts";

export interface Directories {
  /** The roots that exist, and a warning for each that does not. */
  roots: () => Promise<{ roots: RootRecord[]; warnings: HostWarning[] }>;
  /** The roots with the projects below them. */
  list: () => Promise<RootListing[]>;
  /** The contents of a directory; undefined if it is not in a root. */
  browse: (path: string) => Promise<Contents | undefined>;
  /** One directory; undefined if it is not in a root. */
  describe: (path: string) => Promise<DirectoryRecord | undefined>;
}

export interface Contents {
  directories: DirectoryRecord[];
  truncated: boolean;
}

/** With what surrounds it, a reply stays below the fabric's 1 MiB. */
const largestReplyBytes = 900 * 1024;
/** Limit for the names read in one directory; a directory with more contains data, and its list is cut. */
const mostNames = 100_000;
/** After this long, other work of the daemon gets its turn. */
const sliceMs = 10;

export function createDirectories(
  policy: () => Policy,
  limitBytes = largestReplyBytes,
): Directories {
  const gitFacts = createGitFacts();
  const rootsNow = () => findRoots(policy().roots);
  const mayRead = (roots: readonly Root[]) => (realPath: string) =>
    rootOf(roots, realPath) !== undefined;

  function describe(roots: readonly Root[], place: PlaceBelowRoot): DirectoryRecord {
    return { path: place.path, ...gitFacts.read(place.handle, mayRead(roots)) };
  }

  function describeRoot(roots: readonly Root[], place: PlaceBelowRoot): RootRecord {
    const record = describe(roots, place);
    return { ...record, type: record.isGitRepository ? "repository" : "folder" };
  }

  /** In the order of their names, as many as fit into a reply. */
  async function contentsOf(
    roots: readonly Root[],
    place: PlaceBelowRoot,
    isShown: (name: string) => boolean,
  ): Promise<Contents> {
    const { names, isCut } = await readNames(place, isShown);
    const directories: DirectoryRecord[] = [];
    const rest = createSlices();
    let bytes = 0;
    for (const name of names.sort()) {
      await rest();
      const facts = gitFacts.readIn(place.handle, name, mayRead(roots));
      if (!facts) continue;
      const record = { path: join(place.path, name), ...facts };
      bytes += sizeOf(record);
      if (bytes > limitBytes) return { directories, truncated: true };
      directories.push(record);
    }
    return { directories, truncated: isCut };
  }

  return {
    async roots() {
      const written = policy().roots;
      const roots = await rootsNow();
      const found: RootRecord[] = [];
      const warnings: HostWarning[] = [];
      for (const path of written) {
        using place = await openBelowRoots(roots, path);
        if (place) found.push({ ...describeRoot(roots, place), path });
        else warnings.push(missing(path));
      }
      return { roots: found, warnings };
    },

    async list() {
      const roots = await rootsNow();
      const listings: RootListing[] = [];
      for (const { path } of roots) {
        using place = await openBelowRoots(roots, path);
        if (!place) continue;
        const record = { ...describeRoot(roots, place), path };
        const { directories, truncated } =
          record.type === "folder"
            ? await contentsOf(roots, { ...place, path }, isProject)
            : { directories: [], truncated: false };
        listings.push({ ...record, children: directories, truncated });
      }
      return cutToFit(listings, limitBytes);
    },

    async browse(path) {
      const roots = await rootsNow();
      using place = await openBelowRoots(roots, path);
      // Awaited here: the handle is closed at the end of this block, and its number used again.
      return place && (await contentsOf(roots, place, isNotGit));
    },

    async describe(path) {
      const roots = await rootsNow();
      using place = await openBelowRoots(roots, path);
      return place && describe(roots, place);
    },
  };
}

const isNotGit = (name: string) => name !== ".git";
/** Hidden directories contain settings and caches; browsing shows them. */
const isProject = (name: string) => !name.startsWith(".");

const missing = (path: string): HostWarning => ({
  code: "root_missing",
  message: `The root ${path} of the policy file is not a directory that the daemon can open. Create it, or remove the line.`,
});

async function readNames(
  place: PlaceBelowRoot,
  isShown: (name: string) => boolean,
): Promise<{ names: string[]; isCut: boolean }> {
  const names: string[] = [];
  const rest = createSlices();
  const entries = opendirSync(place.handle.inside("."), { bufferSize: 1024 });
  try {
    for (let seen = 0; seen < mostNames; seen++) {
      await rest();
      const entry = entries.readSync();
      if (!entry) return { names, isCut: false };
      if (entry.isDirectory() && isShown(entry.name)) names.push(entry.name);
    }
    return { names, isCut: true };
  } finally {
    entries.closeSync();
  }
}

/** Work continues without a wait, which is fast, but for no longer than a slice. */
function createSlices(): () => Promise<void> | undefined {
  let started = performance.now();
  return () => {
    if (performance.now() - started < sliceMs) return undefined;
    return new Promise<void>((resolve) => {
      setImmediate(() => {
        started = performance.now();
        resolve();
      });
    });
  };
}
