// A disk of a few megabytes that a test can fill: a tmpfs, which only root can mount.
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk extends Disposable {
  directory: string;
  freeBytes: () => number;
  /** Fills the disk except for this many bytes. */
  fill: (leaveBytes?: number) => void;
  /** Removes the file that fills it. */
  empty: () => void;
}

/** Returns a sentence that says why no disk can be mounted, if that is so. */
export function makeSmallDisk(megabytes: number): SmallDisk | string {
  if (process.getuid?.() !== 0) return "A small disk can only be mounted by root.";
  const directory = mkdtempSync(join(tmpdir(), "hawser-small-disk-"));
  try {
    const options = `size=${megabytes}m,mode=0700`;
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", directory], { stdio: "pipe" });
  } catch (error) {
    rmSync(directory, { recursive: true });
    return `A small disk cannot be mounted here: ${(error as Error).message}`;
  }
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  };
  const filler = join(directory, "filler");
  return {
    directory,
    freeBytes,
    fill(leaveBytes = 0) {
      const file = openSync(filler, "a");
      try {
        while (freeBytes() > leaveBytes) {
          writeSync(file, Buffer.alloc(Math.min(65_536, freeBytes() - leaveBytes)));
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        closeSync(file);
      }
    },
    empty: () => rmSync(filler, { force: true }),
    [Symbol.dispose]() {
      // Lazily, because a process that is ending may still have a file open.
      execFileSync("umount", ["-l", directory]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
