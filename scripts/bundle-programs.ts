// Writes each of Hawser's programs as one file, for the processes that tests start.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "@hawser/deploy/bundle.ts";
import type { Program } from "@hawser/testkit/main-file.ts";

export interface BundledPrograms extends Disposable {
  /** Contains the file `<program>.mjs` of each program. */
  directory: string;
}

const programs: Program[] = ["cli", "control-plane", "daemon"];

export async function bundlePrograms(root: string): Promise<BundledPrograms> {
  const made = mkdtempSync(join(tmpdir(), "hawser-programs-"));
  // The control plane reads these at the same places as in the package.
  const directory = join(made, "lib/server");
  mkdirSync(directory, { recursive: true });
  symlinkSync(join(root, "control-plane/migrations"), join(made, "migrations"));
  // Points to nothing as long as the dashboard is not built.
  symlinkSync(join(root, "control-plane/pages"), join(made, "pages"));
  symlinkSync(join(root, "control-plane/src/examples.json"), join(directory, "examples.json"));
  await Promise.all(
    programs.map((program) =>
      bundle(`@hawser/${program}/main.ts`, join(directory, `${program}.mjs`)),
    ),
  );
  return { directory, [Symbol.dispose]: () => rmSync(made, { recursive: true, force: true }) };
}
