// The command that the installer places beside the state; it always runs the current version.
import { join } from "node:path";
import type { State } from "../state/state.ts";

export const programOf = (state: State) => join(state.directory, "bin/hawserd");
