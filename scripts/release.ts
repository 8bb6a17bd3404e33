// `npm run release -- --out DIR --keys FILE`: builds a release of the daemon into DIR, with the list
// of agents, which a control plane then serves (HAWSER_RELEASES). `--make-keys FILE` makes the keys, once.
import { parseArgs } from "node:util";
import { buildRelease } from "@hawser/deploy/build-release.ts";
import { publishAgents } from "@hawser/deploy/publish-agents.ts";
import { makeReleaseKeys, readReleaseKeys, writeReleaseKeys } from "@hawser/deploy/release-keys.ts";

const usage = `usage: npm run release -- --make-keys FILE
       npm run release -- --out DIR --keys FILE [--days DAYS]
`;

const { values } = parseArgs({
  options: {
    out: { type: "string" },
    keys: { type: "string" },
    days: { type: "string", default: "90" },
    "make-keys": { type: "string" },
  },
});
const days = Number(values.days);

if (values["make-keys"]) {
  writeReleaseKeys(values["make-keys"], makeReleaseKeys());
  console.log(
    `${values["make-keys"]} holds two pairs of keys. Whoever has a private one can run programs on every host: keep the file off the control plane, and the second private key offline.`,
  );
} else if (values.out && values.keys && days > 0) {
  const publication = {
    out: values.out,
    keys: readReleaseKeys(values.keys),
    expiresAt: new Date(Date.now() + days * 86_400_000),
  };
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
