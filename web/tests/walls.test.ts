// What each folder of web/src may use, and what no page may do. The message of a failure says where.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";

const src = join(import.meta.dirname, "../src");
const files = globSync("**/*.{ts,tsx,css}", { cwd: src })
  .filter((path) => !/\.test\.ts$|\.gen\.ts$/.test(path))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(src, path), "utf8") }));
const scripts = files.filter(({ path }) => /\.tsx?$/.test(path));

/** Without comments, which may name what code must not use. */
const codeOf = (text: string) => text.replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");

interface Import {
  path: string;
  /** From web/src for a file of ours, else the package. */
  target: string;
  isType: boolean;
}

const imports: Import[] = scripts.flatMap(({ path, text }) =>
  [
    ...codeOf(text).matchAll(/(?:import|export)\s([^;]*?)\sfrom\s+"([^"]+)"|import\("([^"]+)"\)/g),
  ].map(([, names = "", fixed, lazy]) => {
    const specifier = (fixed ?? lazy)!;
    return {
      path,
      target: specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier,
      isType: names.startsWith("type "),
    };
  }),
);

const where = (found: { path: string; target: string }[]) =>
  found.map(({ path, target }) => `${path} imports ${target}`);
const folderOf = (path: string) => path.split("/")[0]!;
const featureOf = (path: string) => /^features\/([^/]+)\//.exec(path)?.[1];

test("the walls are read: imports of every kind are found", () => {
  assert.ok(imports.length > 100);
  assert.ok(imports.some(({ target }) => target === "features/instances/index.ts"));
});

test("a feature is used through its index.ts only", () => {
  const through = imports.filter(({ path, target }) => {
    const feature = featureOf(target);
    return feature !== undefined && featureOf(path) !== feature && !target.endsWith("/index.ts");
  });
  assert.deepEqual(where(through), []);
});

test("calls, streams, words, keyboard and design know no feature, no shell and no route", () => {
  const upwards = imports.filter(
    ({ path, target }) =>
      ["calls", "streams", "words", "keyboard", "design"].includes(folderOf(path)) &&
      ["features", "shell", "routes"].includes(folderOf(target)),
  );
  assert.deepEqual(where(upwards), []);
});

test("features know neither shell nor routes", () => {
  const upwards = imports.filter(
    ({ path, target }) =>
      folderOf(path) === "features" && ["shell", "routes"].includes(folderOf(target)),
  );
  assert.deepEqual(where(upwards), []);
});

test("of the client and the contract only types are used, and what seals a secret for a host", () => {
  const code = imports.filter(
    ({ target, isType }) =>
      target.startsWith("@hawser/") && target !== "@hawser/contract/seal.ts" && !isType,
  );
  assert.deepEqual(where(code), []);
});

/** Each finding as file:line. */
const find = (pattern: RegExp, among: typeof files) =>
  among.flatMap(({ path, text }) =>
    codeOf(text)
      .split("\n")
      .flatMap((line, index) =>
        pattern.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [],
      ),
  );

test("only calls and streams send requests", () => {
  const others = scripts.filter(({ path }) => !/^(?:calls|streams)\//.test(path));
  assert.deepEqual(find(/\bfetch\(|XMLHttpRequest|EventSource|sendBeacon/, others), []);
});

test("colours and pixels stand in design only", () => {
  const others = files.filter(({ path }) => folderOf(path) !== "design");
  assert.deepEqual(
    find(/#[\da-f]{3,8}["'; )]|\b(?:rgba?|hsla?|oklch)\(|\d(?:px|rem)\b/i, others),
    [],
  );
});

test("T5: no text becomes HTML or code", () => {
  const ways =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcDoc|\beval\(|new Function/i;
  assert.deepEqual(find(ways, scripts), []);
});
