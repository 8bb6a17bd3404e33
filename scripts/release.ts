// `npm run release -- --out DIR --keys FILE`: builds a release of the daemon into DIR, with the list
// of agents, which a control plane then serves (HAWSER_RELEASES). `--make-keys FILE` makes the keys, once;
// `--next-keys FILE` replaces one of them.
import { parseArgs } from "node:util";
import { buildRelease } from "@hawser/deploy/build-release.ts";
import { refuseUntested } from "@hawser/deploy/escape-tests.ts";
import { publishAgents, shippedAgents } from "@hawser/deploy/publish-agents.ts";
import {
  makeReleaseKeys,
  nextReleaseKeys,
  readReleaseKeys,
  writeReleaseKeys,
} from "@hawser/deploy/release-keys.ts";

const usage = `usage: npm run release -- --make-keys FILE
       npm run release -- --next-keys FILE --keys FILE [--drop first|second]
       npm run release -- --out DIR --keys FILE [--days DAYS]
`;

const { values } = parseArgs({
  options: {
    out: { type: "string" },
    keys: { type: "string" },
    days: { type: "string", default: "90" },
    "make-keys": { type: "string" },
    "next-keys": { type: "string" },
    drop: { type: "string", default: "first" },
  },
});
const days = Number(values.days);
const isDrop = (text: string) => text === "first" || text === "second";

if (values["make-keys"]) {
  writeReleaseKeys(values["make-keys"], makeReleaseKeys());
  console.log(
    `${values["make-keys"]} holds two pairs of keys. Whoever has a private one can run programs on every host: keep the file off the control plane, and the second private key offline.`,
  );
} else if (values["next-keys"] && values.keys && isDrop(values.drop)) {
  writeReleaseKeys(values["next-keys"], nextReleaseKeys(readReleaseKeys(values.keys), values.drop));
  console.log(
    `${values["next-keys"]} holds the kept pair, which signs from now on, and a new one. Build the next release with it, and have every host update before you replace another key.`,
  );
} else if (values.out && values.keys && days > 0) {
  const publication = {
    out: values.out,
    keys: readReleaseKeys(values.keys),
    expiresAt: new Date(Date.now() + days * 86_400_000),
  };
  refuseUntested(shippedAgents);
  const { version, expiresAt, platforms } = await buildRelease(publication);
  const { serial, agents } = publishAgents(publication);
  console.log(
    `hawserd ${version} for ${Object.keys(platforms).join(", ")} is in ${values.out}, to be installed until ${expiresAt}.`,
  );
  for (const { kind, version: agent, platform } of agents)
    console.log(`${kind} ${agent} ${platform}`);
  console.log(`The list of agents is number ${serial}.`);
} else {
  process.stderr.write(usage);
  process.exitCode = 2;
}
