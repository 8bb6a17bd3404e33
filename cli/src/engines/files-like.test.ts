import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { filesLike } from "./files-like.ts";

test("files are found below a directory whose name looks like a pattern", (t) => {
  const place = mkdtempSync(join(tmpdir(), "hawser-files-"));
  t.after(() => rmSync(place, { recursive: true }));
  const data = join(place, "a[b]*{c}");
  mkdirSync(join(data, "engines/node-1"), { recursive: true });
  const file = join(data, "engines/node-1/node-1.gz");
  writeFileSync(file, "");
  assert.deepEqual(filesLike(data, "engines/node-*/node-*.gz"), [file]);
  assert.deepEqual(filesLike("/", join(place, "*/engines/node-1/*.gz")), [file]);
  assert.deepEqual(filesLike(join(place, "missing"), "*"), []);
});

test("files are found although the current directory was removed", (t) => {
  const place = mkdtempSync(join(tmpdir(), "hawser-files-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  const module = join(import.meta.dirname, "files-like.ts");
  const script = `
    const { filesLike } = await import(${JSON.stringify(module)});
    process.chdir(${JSON.stringify(place)});
    (await import("node:fs")).rmdirSync(${JSON.stringify(place)});
    console.log(filesLike("/", "/bin/sh").length);`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
  });
  assert.equal(output.trim(), "1");
});
