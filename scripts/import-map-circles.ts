// Finds circles of files: files that import each other directly or through others. Imports of types
// count too, because reading one file of a circle means reading them all.
import { posix } from "node:path";
import { importsOf } from "./imports-of.ts";

export interface Importing {
  path: string;
  text: string;
}

/** Each circle once, as the files on it in the order of their imports. */
export function findCircles(files: readonly Importing[]): string[][] {
  const paths = new Set(files.map(({ path }) => path));
  const imports = new Map(
    files.map(({ path, text }) => [
      path,
      importsOf(text).flatMap(({ specifier }) => {
        const target = resolve(path, specifier);
        return target !== undefined && paths.has(target) ? [target] : [];
      }),
    ]),
  );
  const finished = new Set<string>();
  const circles: string[][] = [];

  /** Depth first: an import of a file that is on the current path closes a circle. */
  function visit(path: string, trail: string[]): void {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push(trail.slice(start));
    if (start >= 0 || finished.has(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  }
  for (const path of paths) visit(path, []);
  return circles;
}

/** The imported file, from the repository's root; undefined for a package of npm or Node. */
function resolve(path: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
  const [, workspace, file = "index.ts"] = /^@hawser\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  return workspace === undefined ? undefined : `${workspace}/src/${file}`;
}
