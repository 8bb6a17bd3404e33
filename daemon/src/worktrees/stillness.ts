// Whether a session's own tree is still as its last snapshot has it, told from the times of its files alone. A
// prompt that follows a turn must not wait for git when nothing has happened in between.
//
// A file that is written has a new ctime, and a directory in which a file comes or goes a new mtime. Only
// what was last touched well before the snapshot began is vouched for: a change while it was being taken
// cannot be told from one before it.
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Git } from "../git/git.ts";
import { followedBy } from "./park.ts";
import type { OwnTree } from "./snapshots.ts";

export interface Stillness {
  /** Nothing has changed since. */
  holds(): boolean;
}

/** Above this, looking at every file takes longer than git would. */
const mostFiles = 3_000;
/** File times are as coarse as the kernel's tick. */
const racyMs = 50;
const listMs = 10_000;

/** Nothing when it cannot be vouched for. `begunAt` is when the snapshot was begun, in milliseconds. */
export async function openStillness(
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

/** Its files, every directory that one of them is in, and what git knows of its HEAD and index. */
function placesOf({ directory, repository, adminDirectory }: OwnTree, files: string[]): string[] {
  const folders = new Set([directory]);
  for (const file of files) {
    for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
      folders.add(join(directory, folder));
    }
  }
  // A clone keeps everything in one place, a worktree the rest in that of its repository.
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
