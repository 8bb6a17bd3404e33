// `npm test [pattern…]`: the unit and integration tests of every workspace, or those whose path
// contains or matches a pattern. The whole-product tests are `npm run acceptance`.
import { parseArgs } from "node:util";
import { chooseTestFiles, longestFirst, runTests } from "./run-tests.ts";

const { positionals } = parseArgs({ allowPositionals: true });
const workspaces = [
  "contract",
  "client",
  "cli",
  "host-protocol",
  "control-plane",
  "daemon",
  "deploy",
  "testkit",
  "scripts",
];
const files = chooseTestFiles(
  workspaces.map((workspace) => `${workspace}/**/*.test.ts`),
  positionals,
);
// Holds a throughput against a goal, so it has the machine to itself.
const isMeasured = (file: string) => file === "control-plane/src/session-stream.test.ts";
// Real agents need much processor time; most other files wait for a part of their time. More at once would
// be done a little sooner, but miss deadlines of the product on a machine that is slower.
const hasAgents = (file: string) =>
  /daemon\/src\/(?:drivers|exposures)\/|opencode|agent-programs/.test(file);
const others = files.filter((file) => !isMeasured(file));
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
process.exitCode = await runTests(
  [
    { files: longestFirst(others.filter(hasAgents), longest), atOnce: 2 },
    {
      files: longestFirst(
        others.filter((file) => !hasAgents(file)),
        longest,
      ),
      atOnce: 4,
    },
    { files: files.filter(isMeasured), atOnce: 1 },
  ],
  {},
);
