// `npm run web:size`: what a browser loads before it shows a page, with gzip and without fonts, by npm package. Fails
// above the budget.
import { gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";

/** The first load of any page. */
const budget = 200_000;

/** What the first view of an address loads: the entry, and the modules that the address needs at once. */
const views: Record<string, RegExp> = {
  "/sign-in": /\/features\/access\/sign-in-page\.tsx$/,
  "/hosts": /\/features\/instances\/index\.ts$/,
  "/sessions/…": /\/features\/sessions\/index\.ts$/,
};

const [bundle] = [
  await build({
    root: import.meta.dirname,
    configFile: `${import.meta.dirname}/vite.config.ts`,
    logLevel: "warn",
    build: { write: false },
  }),
].flat() as Rolldown.RolldownOutput[];
const output = bundle!.output;
const chunks = output.filter((each) => each.type === "chunk");
const entry = chunks.find(({ isEntry }) => isEntry)!;
const gzip = (text: string | Uint8Array) => gzipSync(text, { level: 9 }).length;
const stylesOf = (loaded: Set<Rolldown.OutputChunk>) => {
  const names = new Set(
    [...loaded].flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])]),
  );
  return output
    .filter((each) => each.type === "asset" && names.has(each.fileName))
    .reduce((sum, each) => sum + gzip((each as Rolldown.OutputAsset).source), 0);
};

/** The chunk and all that it imports at once. */
function withImports(chunk: Rolldown.OutputChunk, found = new Set<Rolldown.OutputChunk>()) {
  if (found.has(chunk)) return found;
  found.add(chunk);
  for (const name of chunk.imports) {
    const imported = chunks.find(({ fileName }) => fileName === name);
    if (imported) withImports(imported, found);
  }
  return found;
}

let isTooLarge = false;
for (const [view, module] of Object.entries(views)) {
  const lazy = module && chunks.find(({ facadeModuleId }) => module.test(facadeModuleId ?? ""));
  if (module && !lazy)
    throw new Error(`No part of the build is that of ${view}. Correct this script.`);
  const loaded = withImports(entry);
  if (lazy) withImports(lazy, loaded);
  const scripts = [...loaded].reduce((sum, { code }) => sum + gzip(code), 0);
  const styles = stylesOf(loaded);
  const total = scripts + styles;
  console.log(`${kilo(total)}  ${view}, of which styles ${kilo(styles)}`);
  for (const [name, share] of sharesOf(loaded, scripts)) console.log(`  ${kilo(share)}  ${name}`);
  if (total <= budget) continue;
  isTooLarge = true;
  console.error(`${view} is larger than ${kilo(budget)}. Load a part of it later.`);
}
if (isTooLarge) process.exitCode = 1;

/** The compressed size, shared among packages as their code is. The largest first. */
function sharesOf(loaded: Set<Rolldown.OutputChunk>, compressed: number): [string, number][] {
  const lengths = new Map<string, number>();
  for (const { modules } of loaded) {
    for (const [id, { renderedLength }] of Object.entries(modules)) {
      const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? "our own";
      const group = name.startsWith("@radix-ui/") ? "radix-ui" : name;
      lengths.set(group, (lengths.get(group) ?? 0) + renderedLength);
    }
  }
  const all = [...lengths.values()].reduce((sum, length) => sum + length, 0);
  return [...lengths]
    .map(([name, length]): [string, number] => [name, (compressed * length) / all])
    .filter(([, share]) => share >= 500)
    .sort(([, a], [, b]) => b - a);
}

function kilo(bytes: number): string {
  return `${(bytes / 1000).toFixed(1).padStart(6)} kB`;
}
