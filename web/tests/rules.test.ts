// Each rule of the dashboard has a test that names it: its number, and its name.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const web = join(import.meta.dirname, "..");
const tests = globSync("{src,tests}/**/*.test.ts", { cwd: web })
  .map((file) => readFileSync(join(web, file), "utf8"))
  .join("\n");

const rules = [
  "3.2 Session groups",
  "3.2 Host label",
  "3.4 Read marks",
  "4.1 Transcript",
  "4.1 Streaming",
  "4.1 Fold",
  "4.1 Prompt",
  "4.1 Plan",
  "4.1 Request card",
  "4.1 Composer",
  "4.1 Changes",
  "4.1 Push",
  "4.1 Pairing",
  "4.1 Logins",
  "4.1 End session",
  "4.1 Restore",
  "4.2.1 Comments on lines",
  "4.2.4 Search",
  "4.2.5 Waiting prompts",
  "4.2.6 Sub-agents",
  "4.2.7 Images",
  "4.2.8 Groups by state",
  "4.2.9 Preview",
  "4.2.11 Modes",
  "4.2.12 First run",
  "5 Loading",
  "5 Empty",
  "5 Error",
  "5 Stream reconnecting",
  "5 Healed",
  "5 Resync of the view",
  "5 Resync of the feed",
  "5 Host offline",
  "5 Tab hidden",
  "5 Signed out elsewhere",
  "5 No permission",
  "5 In progress",
  "5 Older page",
  "7 Keyboard",
  "7 Focus",
  "8 Accessibility",
  "9 Phone",
  "10 Speed",
];

for (const rule of rules) {
  test(`a test names the rule ${rule}`, () => {
    assert.ok(new RegExp(`test\\(\\s*["\`](?:[^"\`]*, )?${rule}\\b`).test(tests));
  });
}

test("9 Phone: the keyboard resizes the page, which does not zoom into a field", () => {
  const page = readFileSync(join(web, "index.html"), "utf8");
  assert.match(page, /name="viewport"[^>]*interactive-widget=resizes-content/);
  const controls = readFileSync(join(web, "src/design/controls.css"), "utf8");
  assert.match(controls, /@media \(pointer: coarse\) \{\s*\.input \{\s*font-size: 16px/);
});
