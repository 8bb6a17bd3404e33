// A small host that can clone and push, in the home directory that its git and its `gh` find.
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeDirectory } from "./remove-directory.ts";
import {
  makeSessionId,
  makeSmallHost,
  policy,
  type OpenHost,
  type SmallHost,
} from "./small-host.ts";

export interface CloneHost extends Disposable {
  small: SmallHost;
  /** Where the clones of sessions lie, and where they are put aside. */
  checkouts: string;
  parked: string;
  open: () => OpenHost;
}

/** Its state lies in `place`, or in a directory of its own. */
export function makeCloneHost(
  makeHome: (home: string) => NodeJS.ProcessEnv,
  place?: string,
): CloneHost {
  const small = makeSmallHost(place);
  const home = mkdtempSync(join(tmpdir(), "hawser-clone-home-"));
  const environment = makeHome(home);
  const state = join(small.directory, "state");
  return {
    small,
    checkouts: join(state, "checkouts"),
    parked: join(state, "parked"),
    open: () => small.open({ environment }),
    [Symbol.dispose]() {
      small[Symbol.dispose]();
      removeDirectory(home);
    },
  };
}

/** What start_session_in_clone is asked with. */
export const wantedClone = (clone: object, sessionId = makeSessionId()) => ({
  sessionId,
  kind: "opencode" as const,
  title: "In a clone",
  policy,
  clone,
});

export const isEmpty = (directory: string) => readdirSync(directory).length === 0;
