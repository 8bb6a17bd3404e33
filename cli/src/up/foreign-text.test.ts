// Names of files and lines of logs are text of others. On a terminal it can do nothing but be read.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { openTerminal } from "@hawser/testkit/terminal.ts";

const place = mkdtempSync(join(tmpdir(), "hawser-text-"));
after(() => removeDirectory(place));
const unsafe = "\u001b[2K\u001b]0;title\u0007\u202e";
const shown = "\\u001b[2K\\u001b]0;title\\u0007\\u202e";

test("the question for repositories shows control characters of a name as escapes", async () => {
  mkdirSync(join(place, `a${unsafe}z/.git`), { recursive: true });
  mkdirSync(join(place, "honest/.git"), { recursive: true });
  const module = join(import.meta.dirname, "choose-roots.ts");
  const code = `(await import(${JSON.stringify(module)})).askRoots(${JSON.stringify(place)})`;
  using terminal = openTerminal([process.execPath, "--input-type=module", "--eval", code], {});
  await terminal.untilShown("honest");
  assert.ok(terminal.screen().includes(`a${shown}z`), terminal.screen());
});

test("hawser logs shows control characters of a line as escapes", () => {
  const data = join(place, "data");
  mkdirSync(join(data, "log"), { recursive: true });
  writeFileSync(join(data, "log/postgres.log"), `before ${unsafe} after\n`);
  const main = join(import.meta.dirname, "../main.ts");
  const output = execFileSync(process.execPath, [main, "logs", "postgres", "--data", data], {
    encoding: "utf8",
  });
  assert.equal(output, `before ${shown} after\n`);
});
