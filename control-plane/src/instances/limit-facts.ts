// Limits what a host reports about itself. Listings contain it: with a megabyte from each of a thousand hosts, one
// call would take more memory than a node has. The record says that something was left out.
import type { HostFacts } from "@hawser/host-protocol";
import { shortened } from "../postgres/shortened.ts";

const longestName = 255;
const longestSentence = 1_000;
/** In characters of JSON. */
const most = { agents: 8_000, problems: 4_000, roots: 32_000, warnings: 8_000, operations: 16_000 };

const leftOut = {
  code: "facts_cut",
  message:
    "The host reports more about itself than is stored, so a part is missing here. Reduce its roots, or look at `hawserd status` on the host.",
};

/** Lists that an older daemon does not report are empty. */
export function limitFacts(facts: HostFacts) {
  const { host, codeHostingCli, agents, roots, warnings = [], operations = [] } = facts;
  const name = (text: string) => shortened(text, longestName);
  const limited = {
    host: { hostname: name(host.hostname), os: name(host.os), arch: name(host.arch) },
    daemonVersion: name(facts.daemonVersion),
    agents: fitting(agents.map(limitAgent), most.agents),
    roots: fitting(roots, most.roots),
    codeHostingCli: codeHostingCli && {
      ...codeHostingCli,
      account: shortened(codeHostingCli.account, longestName),
    },
    warnings: fitting(warnings.map(limitMessage), most.warnings),
    operations: fitting(
      operations.map((operation) => ({
        ...operation,
        operationId: name(operation.operationId),
        subject: name(operation.subject),
        step: shortened(operation.step, longestSentence),
      })),
      most.operations,
    ),
  };
  const lists = ["agents", "roots", "warnings", "operations"] as const;
  const isCut = lists.some((list) => limited[list].length < (facts[list]?.length ?? 0));
  return isCut ? { ...limited, warnings: [...limited.warnings, leftOut] } : limited;
}

type Agent = HostFacts["agents"][number];

const limitAgent = ({ version, problems = [], ...agent }: Agent) => ({
  ...agent,
  version: shortened(version, longestName),
  problems: fitting(problems.map(limitMessage), most.problems),
});

const limitMessage = <Message extends { code: string; message: string }>(each: Message) => ({
  ...each,
  code: shortened(each.code, longestName),
  message: shortened(each.message, longestSentence),
});

/** The first entries whose JSON fits together. */
function fitting<Entry>(list: readonly Entry[], longest: number): Entry[] {
  let length = 0;
  const end = list.findIndex((entry) => (length += JSON.stringify(entry).length) > longest);
  return end === -1 ? [...list] : list.slice(0, end);
}
