// `npm run release`: a mistake of its user is answered with a sentence, not with a stack trace.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

test("mistakes of the user are answered with one sentence that says what to do", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hawser-release-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const there = join(directory, "there.json");
  writeFileSync(there, "no keys");
  const cases: [args: string[], code: number, words: RegExp][] = [
    [["--make-keys", there], 1, /^\S+ exists already and is not replaced: .* Name another file\.$/],
    [["--make-key", there], 2, /^Unknown option '--make-key'.*\nusage: npm run release/],
  ];
  await Promise.all(
    cases.map(async ([args, code, words]) => {
      const ended = await run(args);
      assert.match(ended.output, words);
      assert.doesNotMatch(ended.output, /\n {4}at |node:internal/);
      assert.equal(ended.code, code);
    }),
  );
});

function run(args: string[]): Promise<{ code: number | null; output: string }> {
  const script = join(import.meta.dirname, "release.ts");
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [script, ...args],
      { timeout: 30_000 },
      (_error, stdout, stderr) =>
        resolve({ code: child.exitCode, output: `${stdout}${stderr}`.trimEnd() }),
    );
  });
}
