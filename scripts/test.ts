// `npm test [pattern…]`: the unit and integration tests of every workspace, or those whose path
// contains or matches a pattern. The whole-product tests are `npm run acceptance`.
import { parseArgs } from "node:util";
import { chooseTestFiles, runTests } from "./run-tests.ts";

const { positionals } = parseArgs({ allowPositionals: true });
const workspaces = [
  "contract",
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
// Real agents need much processor time. Most other files wait for most of their time, so that six of them
// do not fill two cores.
const hasAgents = (file: string) => /daemon\/src\/drivers\/|opencode|agent-programs/.test(file);
const others = files.filter((file) => !isMeasured(file));
process.exitCode = await runTests(
  [
    { files: others.filter(hasAgents), atOnce: 3 },
    { files: others.filter((file) => !hasAgents(file)), atOnce: 6 },
    { files: files.filter(isMeasured), atOnce: 1 },
  ],
  {},
);
