// The main files of Hawser's programs, as tests start them.
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type Program = "cli" | "control-plane" | "daemon";

/**
 * In a test run, each program is one file, as users get it: it starts with less work than from its sources.
 * `scripts/bundle-programs.ts` makes these files.
 */
export function mainFile(program: Program): string {
  const directory = process.env["HAWSER_TEST_PROGRAMS"];
  if (directory !== undefined) return join(directory, `${program}.mjs`);
  return fileURLToPath(import.meta.resolve(`@hawser/${program}/main.ts`));
}
