// `npm run package -- --out DIR`: writes the npm packages into DIR: `hawser`, and one for each engine that this
// machine has built. DIR/hawser is the package before it was packed.
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildPackage } from "@hawser/deploy/build-package.ts";
import { buildEngines, tarballName } from "@hawser/deploy/engines/engine-packages.ts";
import { writeTarball } from "@hawser/deploy/engines/write-tarball.ts";
import { refuseUntested } from "@hawser/deploy/escape-tests.ts";
import { shippedAgents } from "@hawser/deploy/publish-agents.ts";
import {
  keepKeysSafe,
  makeReleaseKeys,
  readReleaseKeys,
  writeReleaseKeys,
} from "@hawser/deploy/release-keys.ts";
import { ReleaseRefused } from "@hawser/deploy/release-refused.ts";
import root from "../package.json" with { type: "json" };

const usualKeys = "release-keys.json";
const usage = `usage: npm run package -- --out DIR [--keys FILE] [--days DAYS]
The keys are those of releases. Without --keys they are in ${usualKeys}, which is made if it is missing.
`;

async function writePackages(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      out: { type: "string" },
      keys: { type: "string" },
      days: { type: "string", default: "90" },
    },
  });
  const { out, keys: file = usualKeys } = values;
  const days = Number(values.days);
  if (!out || !(days > 0)) {
    process.stderr.write(usage);
    process.exitCode = 2;
    return;
  }
  refuseUntested(shippedAgents);
  if (values.keys === undefined && !existsSync(file)) {
    writeReleaseKeys(file, makeReleaseKeys());
    console.log(keepKeysSafe(file));
  }
  const keys = readReleaseKeys(file);
  mkdirSync(out, { recursive: true });
  const { engines, missing } = await buildEngines(out);
  const expiresAt = new Date(Date.now() + days * 86_400_000);
  const directory = join(out, "hawser");
  await buildPackage(directory, { keys, engines, expiresAt });
  const tarball = `hawser-${root.version}.tgz`;
  await writeTarball(directory, join(out, tarball));
  for (const name of [tarball, ...engines.map(tarballName)]) {
    const { size } = statSync(join(out, name));
    console.log(`${join(out, name)}: ${(size / 1e6).toFixed(1)} MB`);
  }
  for (const sentence of missing) console.log(sentence);
}

try {
  await writePackages(process.argv.slice(2));
} catch (error) {
  const { code = "", message, syscall } = error as NodeJS.ErrnoException;
  const isUsage = code.startsWith("ERR_PARSE_ARGS");
  // Any other error is a fault of the program, and its stack is needed.
  if (!isUsage && syscall === undefined && !(error instanceof ReleaseRefused)) throw error;
  process.stderr.write(isUsage ? `${message}\n${usage}` : `${message}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
