// Variables for every process of Claude Code, whatever it is started for.
import type { Environment } from "../../environment.ts";

/** Disables updates, telemetry, and requests that neither a prompt nor a login needs. */
export const quiet: Environment = {
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
};
