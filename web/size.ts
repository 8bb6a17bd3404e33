// `npm run web:size`: what a browser loads before it shows a page, with gzip and without fonts, by npm package and by our
// own folders. Builds the pages and opens them in Chromium, so it counts what is loaded and not what should be. Fails
// above the budget.
import { build, type Rolldown } from "vite";
import { budget, firstLoads, gzipped, gzippedAll } from "./tests/first-load.ts";

const [bundle] = [
  await build({
    root: import.meta.dirname,
    configFile: `${import.meta.dirname}/vite.config.ts`,
    logLevel: "warn",
  }),
].flat() as Rolldown.RolldownOutput[];
const chunks = new Map(
  bundle!.output
    .filter((each) => each.type === "chunk")
    .map((chunk) => [`/${chunk.fileName}`, chunk]),
);

let isTooLarge = false;
for (const [address, { files, later }] of await firstLoads()) {
  const total = gzippedAll(files);
  const styles = gzippedAll(files.filter((path) => path.endsWith(".css")));
  console.log(
    `${kilo(total)}  ${address}, of which styles ${kilo(styles)}; when idle ${kilo(gzippedAll(later))} more`,
  );
  for (const [name, share] of sharesOf(files)) console.log(`  ${kilo(share)}  ${name}`);
  if (total <= budget) continue;
  isTooLarge = true;
  console.error(`${address} is larger than ${kilo(budget)}. Load a part of it later.`);
}
if (isTooLarge) process.exitCode = 1;

/** The compressed size of each script, shared among packages and folders as their code is. The largest first. */
function sharesOf(files: readonly string[]): [string, number][] {
  const shares = new Map<string, number>();
  for (const path of files) {
    const chunk = chunks.get(path);
    if (!chunk) continue;
    const modules = Object.entries(chunk.modules);
    const all = modules.reduce((sum, [, { code }]) => sum + (code?.length ?? 0), 0);
    const compressed = gzipped(path);
    for (const [id, { code }] of modules) {
      const name = nameOf(id);
      const share = (compressed * (code?.length ?? 0)) / all;
      shares.set(name, (shares.get(name) ?? 0) + share);
    }
  }
  return [...shares].filter(([, share]) => share >= 500).sort(([, a], [, b]) => b - a);
}

function nameOf(id: string): string {
  const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1];
  if (name !== undefined) return name.startsWith("@radix-ui/") ? "radix-ui" : name;
  return /\/web\/src\/((?:features\/)?[^/]+)/.exec(id)?.[1] ?? "the build";
}

function kilo(bytes: number): string {
  return `${(bytes / 1000).toFixed(1).padStart(6)} kB`;
}
