// As a user other than root, for whom permissions hold.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const nobody = 65534;
const isRoot = process.getuid?.() === 0;

for (const name of ["removeTree", "removeTreeNow"])
  test(`${name}: directories that nobody may write to go, also deep ones, and what a link leads to stays`, (t) => {
    const place = mkdtempSync(join(tmpdir(), "hawser-remove-"));
    t.after(() => rmSync(place, { recursive: true, force: true }));
    const tree = join(place, "tree");
    const cache = join(tree, "cache/module");
    const other = join(place, "other");
    for (const directory of [cache, other]) mkdirSync(directory, { recursive: true });
    for (const directory of [cache, other]) writeFileSync(join(directory, "file"), "x");
    symlinkSync(other, join(tree, "link"));
    // Deeper than the longest path that the system takes.
    const deep = `for (let n = 0; n < 700; n++) fs.mkdirSync("deeper"), process.chdir("deeper");`;
    execFileSync(process.execPath, ["--eval", deep], { cwd: tree });
    if (isRoot) {
      execFileSync("chown", ["-R", `${nobody}`, join(tree, "deeper")]);
      for (const path of [place, tree, join(tree, "cache"), cache, other]) {
        chownSync(path, nobody, nobody);
      }
    }
    for (const path of [cache, join(tree, "cache"), other]) chmodSync(path, 0o555);
    const code = `import { ${name} } from ${JSON.stringify(import.meta.resolve("./remove-tree.ts"))};
    await ${name}(${JSON.stringify(tree)});`;
    const node = [process.execPath, "--input-type=module", "--eval", code];
    const asOther = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
    const [program, ...args] = isRoot ? [...asOther, ...node] : node;
    execFileSync(program!, args);
    assert.equal(existsSync(tree), false);
    assert.ok(existsSync(join(other, "file")));
  });
