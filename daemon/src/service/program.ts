// The command that the installer has placed beside the state, which always runs the current version.
import { join } from "node:path";
import type { State } from "../state/state.ts";

export const programOf = (state: State) => join(state.directory, "bin/hawserd");
