// Hidden directories that work is done in until it is whole. Each is written down in the daemon's own
// directory before it is made; what a killed daemon leaves is found there by the next one, and taken
// away together with the git that may still be at work in it.
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import { describe, type Log } from "../log.ts";

export interface HalfDone {
  /** A new name inside this directory, for the caller to make. */
  begin(parent: string): string;
  /** Takes away what is left there. */
  end(place: string): void;
}

const prefix = ".hawser-clone-";
const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `notes` is a directory of the daemon's own. Leftovers of an earlier daemon are removed at once. */
export function createHalfDone(notes: string, log: Log): HalfDone {
  mkdirSync(notes, { recursive: true, mode: 0o700 });
  const noteOf = (place: string) => join(notes, basename(place).slice(prefix.length));
  const end = (place: string) => {
    try {
      rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
      rmSync(noteOf(place), { force: true });
    } catch (error) {
      // The note stays, so the next start tries again.
      log.warn("what is left of a clone could not be removed", { error: describe(error) });
    }
  };
  for (const name of readdirSync(notes).filter((each) => id.test(each))) {
    const place = readFileSync(join(notes, name), "utf8");
    if (!isAbsolute(place) || basename(place) !== `${prefix}${name}`) continue;
    endWorkIn(place);
    end(place);
    log.info("what was left of a clone is removed");
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

/** Ends the git that a killed daemon left; it leads a group of its own, and names the place. */
export function endWorkIn(place: string): void {
  for (const pid of processes()) {
    try {
      const [program = "", ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      if (basename(program) !== "git" || !args.some((each) => each.startsWith(`${place}/`)))
        continue;
      process.kill(-pid, "SIGKILL");
    } catch {
      // Gone, or not of this user, or not the first of a group.
    }
  }
}

/** None where there is no /proc; git ends there by itself when it next says something. */
function processes(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 1);
  } catch {
    return [];
  }
}
