// The directory of the installed package, in which this program is lib/server/hawser.mjs.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";

export function packageDirectory(): string {
  const directory = join(import.meta.dirname, "../..");
  if (existsSync(join(directory, "lib/server/control-plane.mjs"))) return directory;
  throw new CommandFailed(
    `${directory} is not a complete package of hawser: lib/server/control-plane.mjs is missing. Install the package again.`,
  );
}

export function packageVersion(directory: string): string {
  const file = join(directory, "package.json");
  if (!existsSync(file)) return "unknown";
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
