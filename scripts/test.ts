// `npm test [pattern…]`: the unit and integration tests of every workspace, or those whose path
// contains or matches a pattern. The whole-product tests are `npm run acceptance`.
import { parseArgs } from "node:util";
import { buildPages } from "@hawser/deploy/build-pages.ts";
import { chooseTestFiles, longestFirst, runTests } from "./run-tests.ts";

const { positionals } = parseArgs({ allowPositionals: true });
const workspaces = [
  "contract",
  "client",
  "cli",
  "host-protocol",
  "control-plane",
  "web",
  "daemon",
  "deploy",
  "testkit",
  "scripts",
];
const files = chooseTestFiles(
  workspaces.map((workspace) => `${workspace}/**/*.test.ts`),
  positionals,
);
// This file compares a throughput with a goal.
const isMeasured = (file: string) => file === "control-plane/src/session-stream.test.ts";
/** The files that take more than half a minute. */
const longest = [
  "endings.test",
  "failures.test",
  "claude-code.test",
  "abilities.test",
  "opencode-sessions",
  "sessions/crash",
  "node.test",
  "command-line/commands",
  "clone-files",
  "reverts.test",
  "park-and-restore",
  "daemon/src/main.test",
  "link/link.test",
  "revocation.test",
  "hostile-repository",
  "worktrees/push",
];
// Tests of pages open the present ones.
if (files.some((file) => file.startsWith("web/"))) buildPages();
process.exitCode = await runTests(
  {
    together: longestFirst(
      files.filter((file) => !isMeasured(file)),
      longest,
    ),
    alone: files.filter(isMeasured),
  },
  {},
);
