// Gives everything in a home to its user, after a test that runs as root has written into it.
import { chownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRoot } from "./clean-user.ts";

export function giveHome(home: string): void {
  if (!isRoot) return;
  const { uid, gid } = statSync(home);
  giveAll(home, uid, gid);
}

/** Files with several names are linked from elsewhere, where others use them too: they stay as they are. */
function giveAll(path: string, uid: number, gid: number): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink() || (found.isFile() && found.nlink > 1)) return;
  chownSync(path, uid, gid);
  if (!found.isDirectory()) return;
  for (const name of readdirSync(path)) giveAll(join(path, name), uid, gid);
}
