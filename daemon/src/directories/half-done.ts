// Hidden directories for unfinished work. Each is recorded in the daemon's own directory before it is made.
// The next daemon finds there what a killed one left, and removes it, together with a git that still runs
// in it.
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import { describe, type Log } from "../log.ts";

export interface HalfDone {
  /** A new name inside this directory; the caller makes it. */
  begin(parent: string): string;
  /** Removes what is left there. */
  end(place: string): void;
}

const prefix = ".hawser-clone-";
const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `notes`: a directory of the daemon's own. What an earlier daemon left is removed at once. */
export function createHalfDone(notes: string, log: Log): HalfDone {
  mkdirSync(notes, { recursive: true, mode: 0o700 });
  const noteOf = (place: string) => join(notes, basename(place).slice(prefix.length));
  const end = (place: string) => {
    try {
      rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
      rmSync(noteOf(place), { force: true });
    } catch (error) {
      // The note stays, so that the next start tries again.
      log.warn("could not remove the rest of a clone", { error: describe(error) });
    }
  };
  for (const name of readdirSync(notes).filter((each) => id.test(each))) {
    const place = readFileSync(join(notes, name), "utf8");
    if (!isAbsolute(place) || basename(place) !== `${prefix}${name}`) continue;
    endWorkIn(place);
    end(place);
    log.info("removed the rest of a clone");
  }
  return {
    begin(parent) {
      const place = join(parent, `${prefix}${randomUUID()}`);
      writeFileSync(noteOf(place), place, { mode: 0o600, flush: true });
      return place;
    },
    end,
  };
}

/** Ends the git that a killed daemon left; it leads a process group and names the directory. */
export function endWorkIn(place: string): void {
  for (const pid of processes()) {
    try {
      const [program = "", ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      if (basename(program) !== "git" || !args.some((each) => each.startsWith(`${place}/`)))
        continue;
      process.kill(-pid, "SIGKILL");
    } catch {
      // Gone, another user's, or not the leader of a group.
    }
  }
}

/** Empty without /proc; git ends by itself there when it next writes output. */
function processes(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 1);
  } catch {
    return [];
  }
}
