// `npm run client:pack`: builds the package of the client in client/dist and checks it as a user's tools see
// it: its manifest (publint), its types under each way of resolving them (arethetypeswrong), and its size in
// a browser. Fails if a check complains.
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** Large enough for what the client does, too small for a library that it would bring along. */
const mostBundledBytes = 10_000;
/** The package is an ES module only. CommonJS reaches it by `import()`, and in Node 22 or later by `require`. */
const accepted = "CJSResolvesToESM";

const root = join(import.meta.dirname, "..");
const dist = join(root, "client/dist");

const manifest = buildPackage();
const [packed] = JSON.parse(
  execFileSync("npm", ["pack", "--json", "--silent"], { cwd: dist, encoding: "utf8" }),
) as { filename: string; size: number; unpackedSize: number }[];
const tarball = readFileSync(join(dist, packed!.filename));
const bundle = await bundleForBrowsers();
const complaints = [
  ...(await complaintsOfPublint(tarball)),
  ...(await complaintsAboutTypes(tarball)),
  ...(bundle.bytes > mostBundledBytes
    ? [`the bundle has ${bundle.bytes} bytes, more than ${mostBundledBytes}`]
    : []),
];
for (const complaint of complaints) console.error(`client/dist: ${complaint}.`);
if (complaints.length > 0) process.exitCode = 1;
console.log(
  `client/dist/${packed!.filename}: ${packed!.size} bytes. In a browser: ${bundle.bytes} bytes, ${bundle.gzipped} with gzip.`,
);

function buildPackage(): Record<string, unknown> {
  rmSync(dist, { recursive: true, force: true });
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "client"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const file of ["LICENSE", "client/README.md"]) {
    cpSync(join(root, file), join(dist, file.replace("client/", "")));
  }
  const source = readFileSync(join(root, "client/package.json"), "utf8");
  // The sources run as they are inside the repository; users get what tsc wrote.
  const { private: _, ...shared } = JSON.parse(source) as Record<string, unknown>;
  const published = {
    ...shared,
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
    sideEffects: false,
    engines: { node: ">=18" },
  };
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  return published;
}

async function complaintsOfPublint(tarball: Buffer): Promise<string[]> {
  const { buffer } = new Uint8Array(tarball);
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
  return messages.map((message) => formatMessage(message, manifest, { color: false })!);
}

async function complaintsAboutTypes(tarball: Buffer): Promise<string[]> {
  const checked = await checkPackage(createPackageFromTarballData(tarball));
  if (!checked.types) return ["the package has no types"];
  return checked.problems
    .filter(({ kind }) => kind !== accepted)
    .map((problem) => `problem of types: ${JSON.stringify(problem)}`);
}

async function bundleForBrowsers(): Promise<{ bytes: number; gzipped: number }> {
  const { outputFiles } = await build({
    entryPoints: [join(dist, "index.js")],
    platform: "browser",
    format: "esm",
    bundle: true,
    minify: true,
    write: false,
    logLevel: "error",
  });
  const { contents } = outputFiles[0]!;
  return { bytes: contents.length, gzipped: gzipSync(contents).length };
}
