// The command `hawser` for other users of this machine: one file, and a Node that they can read, in a directory
// for PATH.
import { chmodSync, copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "@hawser/deploy/bundle.ts";
import { removeDirectory } from "./remove-directory.ts";

export interface HawserCommand extends Disposable {
  /** Contains the program hawser. */
  directory: string;
}

export async function makeHawserCommand(): Promise<HawserCommand> {
  const directory = mkdtempSync(join(tmpdir(), "hawser-command-"));
  chmodSync(directory, 0o755);
  const [program, node] = [join(directory, "hawser.mjs"), join(directory, "node-of-hawser")];
  await bundle("@hawser/cli/main.ts", program);
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  writeFileSync(join(directory, "hawser"), `#!/bin/sh\nexec '${node}' '${program}' "$@"\n`, {
    mode: 0o755,
  });
  return { directory, [Symbol.dispose]: () => removeDirectory(directory) };
}
