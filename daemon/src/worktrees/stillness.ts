// Detects changes of a session's own tree since its last snapshot, by the times of its files alone. So a
// prompt right after a turn does not wait for git if nothing has changed.
//
// Writing a file changes its ctime; adding or removing a file changes its directory's mtime. The times
// prove something only if all of them are well before the snapshot began: a change while the snapshot was
// made looks like a change before it.
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Git } from "../git/git.ts";
import { followedBy } from "./park.ts";
import type { OwnTree } from "./snapshots.ts";

export interface Stillness {
  /** True if nothing has changed since the snapshot. */
  holds(): boolean;
}

/** With more files, reading all their times takes longer than git. */
const mostFiles = 3_000;
/** File times are as coarse as the kernel's tick. */
const racyMs = 50;
const listMs = 10_000;

/** undefined if file times prove nothing. `begunAt`: when the snapshot began, in milliseconds. */
export async function createStillness(
  git: Git,
  tree: OwnTree,
  indexFile: string,
  begunAt: number,
): Promise<Stillness | undefined> {
  const listed = await git.runIn(tree.directory, "ls-files", {
    options: ["-z", "--cached"],
    environment: { GIT_INDEX_FILE: indexFile },
    deadlineMs: listMs,
  });
  const files = listed.split("\0").filter((path) => path !== "");
  if (files.length > mostFiles) return undefined;
  const places = placesOf(tree, files);
  const first = stampsOf(places);
  if (first.some(({ changedAt }) => changedAt > begunAt - racyMs)) return undefined;
  return {
    holds: () => stampsOf(places).every(({ text }, index) => text === first[index]!.text),
  };
}

/** The tree's files, all their directories, and git's files about HEAD and the index. */
function placesOf({ directory, repository, adminDirectory }: OwnTree, files: string[]): string[] {
  const folders = new Set([directory]);
  for (const file of files) {
    for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
      folders.add(join(directory, folder));
    }
  }
  // A clone has all of these in one directory; a worktree shares some with its repository.
  const common = repository === directory ? adminDirectory : dirname(dirname(adminDirectory));
  const followed = followedBy(adminDirectory);
  return [
    ...folders,
    ...files.map((file) => join(directory, file)),
    ...["HEAD", "index", "logs/HEAD"].map((name) => join(adminDirectory, name)),
    join(common, "packed-refs"),
    ...(followed === null ? [] : [join(common, followed)]),
    join(common, "info", "exclude"),
  ];
}

function stampsOf(places: readonly string[]): { text: string; changedAt: number }[] {
  return places.map((place) => {
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (!found) return { text: "", changedAt: 0 };
    const { ino, size, mode, mtimeMs, ctimeMs } = found;
    return {
      text: `${ino} ${size} ${mode} ${mtimeMs} ${ctimeMs}`,
      changedAt: Math.max(mtimeMs, ctimeMs),
    };
  });
}
