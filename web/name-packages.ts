// Writes packages.json beside the built files: the directories of the npm packages whose code or fonts are in them,
// from the repository's root. Their licences go along with the package of the product.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin, Rolldown } from "vite";

const ofPackage = /node_modules\/(?:@[^/]+\/)?[^/]+(?=\/(?!.*node_modules\/))/;

export function namePackages(): { pages: Plugin; workers: Plugin } {
  const names = new Set<string>();
  const gather = (bundle: Rolldown.OutputBundle) => {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk") continue;
      for (const id of Object.keys(chunk.modules)) {
        const path = ofPackage.exec(id)?.[0];
        if (path !== undefined) names.add(path);
      }
    }
  };
  return {
    // Workers are builds of their own, and are built first.
    workers: {
      name: "gather packages of workers",
      apply: "build",
      generateBundle: (_options, bundle) => gather(bundle),
    },
    pages: {
      name: "name packages",
      apply: "build",
      generateBundle(_options, bundle) {
        gather(bundle);
        // Modules do not show what a style imports.
        const styles = readFileSync(join(import.meta.dirname, "src/design/styles.css"), "utf8");
        for (const [, name] of styles.matchAll(/@import "(@[^/]+\/[^/]+|[a-z][^/]*)\//g)) {
          names.add(`node_modules/${name!}`);
        }
        const source = JSON.stringify([...names].sort());
        this.emitFile({ type: "asset", fileName: "packages.json", source });
      },
    },
  };
}
