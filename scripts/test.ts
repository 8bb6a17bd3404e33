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
// Some wait for most of their time, so that two would not fill two cores.
process.exitCode = await runTests(files, {}, 3);
