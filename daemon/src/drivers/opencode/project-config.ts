// Finds configuration in a repository that opencode would act on without asking: plugins, which it loads with
// the first prompt, and settings that were not tried. No setting of opencode disables them reliably, so they
// must not exist where opencode works. It ignores the rest (decision 0058).
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../../directories/handle.ts";
import { findInRepository } from "../repository-files.ts";

/** Checks out everything but configuration files of opencode, at any depth. */
export const sparsePatterns = ["/*", "!.opencode", "!opencode.json", "!opencode.jsonc"] as const;

const settingsFiles = ["opencode.json", "opencode.jsonc"];
const pluginFolders = ["plugin", "plugins"];
const names = [".opencode", ...settingsFiles];

/** opencode reads configuration in the directory and in each parent up to the top of the repository. */
export const findProjectConfig = (directory: string): string[] =>
  findInRepository(directory, names, (name, path) =>
    name === ".opencode" ? hasPlugins(path) : mayHaveEffect(path),
  );

/** All configuration of opencode in the repository, for the log of a session that findProjectConfig let start. */
export const findIgnoredConfig = (directory: string): string[] =>
  findInRepository(directory, names);

function hasPlugins(folder: string): boolean {
  const listed = namesIn(folder);
  if (!listed) return true;
  return listed.some((name) => {
    if (settingsFiles.includes(name)) return mayHaveEffect(join(folder, name));
    return pluginFolders.includes(name) && namesIn(join(folder, name))?.length !== 0;
  });
}

/** Settings that the test inert-config.test.ts shows to be without effect. */
const inertSettings = new Set(
  `$schema mcp lsp formatter instructions command agent permission model provider share shell`.split(
    " ",
  ),
);

const mostBytes = 1024 * 1024;

/**
 * Whether the settings could have an effect: a plugin, or a setting that was not tried. The raw
 * text is searched too, because opencode replaces references to files and variables before it parses.
 */
function mayHaveEffect(file: string): boolean {
  try {
    const text = readSmallFile(file, mostBytes);
    if (text === undefined || /plugin|\{\s*(?:file|env)|\\u/i.test(text)) return true;
    const settings: unknown = JSON.parse(text);
    if (typeof settings !== "object" || settings === null) return true;
    return !Object.keys(settings).every((name) => inertSettings.has(name));
  } catch {
    return true;
  }
}

/** undefined if the folder cannot be listed now, which may change. Empty if it is a file. */
function namesIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOTDIR" ? [] : undefined;
  }
}
