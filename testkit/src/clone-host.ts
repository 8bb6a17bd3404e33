// A small host that can clone and push, with a home directory for its git and its `gh`.
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
  /** The directory of the sessions' clones, and the directory of parked ones. */
  checkouts: string;
  parked: string;
  open: () => OpenHost;
}

/** The host's state is kept in `place`; in a temporary directory if that is undefined. */
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

/** The payload of the command start_session_in_clone. */
export const wantedClone = (clone: object, sessionId = makeSessionId()) => ({
  sessionId,
  kind: "opencode" as const,
  title: "In a clone",
  policy,
  clone,
});

export const isEmpty = (directory: string) => readdirSync(directory).length === 0;
