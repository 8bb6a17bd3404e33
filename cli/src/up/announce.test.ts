// The last words of a start.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

test("the owner's link is printed, and not given to the log", () => {
  const link = "http://127.0.0.1:7433/first#hwe_secret";
  const code = `import { announce } from ${JSON.stringify(import.meta.resolve("./announce.ts"))};
    announce({
      data: "/tmp/data", settings: { url: "http://127.0.0.1:7433", key: "hwk_secret" }, instanceId: undefined,
      directory: undefined, signInLink: ${JSON.stringify(link)}, json: process.argv[1] === "json",
      say: (sentence) => console.error(sentence) });`;
  const run = (form: string) =>
    spawnSync(process.execPath, ["--input-type=module", "--eval", code, form], {
      encoding: "utf8",
      env: { HOME: "/tmp" },
    });
  const shown = run("text");
  assert.match(shown.stdout, new RegExp(`^  ${link}$`, "m"));
  assert.match(shown.stderr, /Hawser is ready at/);
  assert.doesNotMatch(shown.stderr, /hwe_|hwk_/);
  const json = run("json");
  assert.doesNotMatch(`${json.stdout}${json.stderr}`, /hwe_/);
});
