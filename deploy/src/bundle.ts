// Writes a program of this repository as one JavaScript file, readable, so that stack traces stay useful.
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** `entry`: the program's file, such as `@hawser/daemon/main.ts`. */
export async function bundle(
  entry: string,
  outfile: string,
  define: Record<string, string> = {},
): Promise<void> {
  await write(fileURLToPath(import.meta.resolve(entry)), outfile, {
    format: "esm",
    target: "node24",
    external: ["pg-native"],
    define,
    // CommonJS packages call require, which a module does not have.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
}

/** As `bundle`, for a file that any Node since 18 can run. `entry`: its path from the repository's root. */
export async function bundleForOldNode(
  entry: string,
  outfile: string,
  define: Record<string, string>,
): Promise<void> {
  await write(entry, outfile, {
    format: "cjs",
    target: "node18",
    define,
    banner: { js: "#!/usr/bin/env node" },
  });
}

async function write(entry: string, outfile: string, options: BuildOptions): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    logLevel: "error",
    ...options,
  });
}
