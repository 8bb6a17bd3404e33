// Removes what sessions and agents have left in a directory that has an entry for each of them.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../remove-tree.ts";

/** Removes all entries except those in use. `isUsed` is called again for each entry. */
export async function removeOthers(
  directory: string,
  isUsed: (id: string) => boolean,
): Promise<void> {
  const ids = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  for (const id of ids) {
    if (!isUsed(id)) await removeTree(join(directory, id));
  }
}
