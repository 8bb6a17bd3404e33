// Finds the opencode configuration files of a repository. They may contain plugins and commands that
// opencode runs without asking. No setting of opencode disables plugins reliably, so the files must not
// exist where opencode works.
import { findInRepository } from "../repository-files.ts";

const isConfig = (name: string) => name === ".opencode" || /^opencode\.jsonc?$/.test(name);

/** Checks out everything but configuration files of opencode, at any depth. */
export const sparsePatterns = ["/*", "!.opencode", "!opencode.json", "!opencode.jsonc"] as const;

/** opencode reads configuration in the directory and in each parent up to the top of the repository. */
export const findProjectConfig = (directory: string) => findInRepository(directory, isConfig);
