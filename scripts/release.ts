// `npm run release -- --out DIR --keys FILE`: builds a release of the daemon into DIR, with the list
// of agents, which a control plane then serves (HAWSER_RELEASES). `--make-keys FILE` makes the keys, once;
// `--next-keys FILE` replaces one of them.
import { parseArgs } from "node:util";
import { buildRelease, type ReleaseOptions } from "@hawser/deploy/build-release.ts";
import { refuseUntested } from "@hawser/deploy/escape-tests.ts";
import { publishAgents, shippedAgents } from "@hawser/deploy/publish-agents.ts";
import {
  keepKeysSafe,
  makeReleaseKeys,
  nextReleaseKeys,
  readReleaseKeys,
  writeReleaseKeys,
} from "@hawser/deploy/release-keys.ts";
import { ReleaseRefused } from "@hawser/deploy/release-refused.ts";

const usage = `usage: npm run release -- --make-keys FILE
       npm run release -- --next-keys FILE --keys FILE [--drop first|second]
       npm run release -- --out DIR --keys FILE [--days DAYS]
`;

async function release(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      out: { type: "string" },
      keys: { type: "string" },
      days: { type: "string", default: "90" },
      "make-keys": { type: "string" },
      "next-keys": { type: "string" },
      drop: { type: "string", default: "first" },
    },
  });
  const { "make-keys": made, "next-keys": next, keys, out, drop } = values;
  const days = Number(values.days);
  if (made) {
    writeReleaseKeys(made, makeReleaseKeys());
    console.log(keepKeysSafe(made));
  } else if (next && keys && (drop === "first" || drop === "second")) {
    writeReleaseKeys(next, nextReleaseKeys(readReleaseKeys(keys), drop));
    console.log(
      `${next} contains the kept pair, which signs from now on, and a new one. Build the next release with it, and have every host update before you replace another key.`,
    );
  } else if (out && keys && days > 0) {
    await build({
      out,
      keys: readReleaseKeys(keys),
      expiresAt: new Date(Date.now() + days * 86_400_000),
    });
  } else {
    process.stderr.write(usage);
    process.exitCode = 2;
  }
}

async function build(publication: ReleaseOptions): Promise<void> {
  refuseUntested(shippedAgents);
  const { version, expiresAt, platforms } = await buildRelease(publication);
  const { serial, agents } = publishAgents(publication);
  console.log(
    `hawserd ${version} for ${Object.keys(platforms).join(", ")} is in ${publication.out}, to be installed until ${expiresAt}.`,
  );
  for (const { kind, version: agent, platform } of agents)
    console.log(`${kind} ${agent} ${platform}`);
  console.log(`The list of agents is number ${serial}.`);
}

try {
  await release(process.argv.slice(2));
} catch (error) {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const isUsage = code.startsWith("ERR_PARSE_ARGS");
  const isOfFiles = (error as NodeJS.ErrnoException).syscall !== undefined;
  // Any other error is a fault of the program, and its stack is needed.
  if (!isUsage && !isOfFiles && !(error instanceof ReleaseRefused)) throw error;
  process.stderr.write(
    isUsage
      ? `${message}\n${usage}`
      : isOfFiles
        ? `The release was not built: ${message}\n`
        : `${message}\n`,
  );
  process.exitCode = isUsage ? 2 : 1;
}
