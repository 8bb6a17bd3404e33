// Which versions of the agents have passed the escape tests: `npm run canary`, which shows that no command
// runs unasked. A new version of an agent may call tools in a new way, so it is not offered to hosts before
// it has passed.
import type { AgentTable } from "@hawser/host-protocol";
import { ReleaseRefused } from "./release-refused.ts";
import passed from "../escape-tests.json" with { type: "json" };

/** Throws if the list names a version that has not passed. */
export function refuseUntested({ agents }: Pick<AgentTable, "agents">): void {
  const untested = agents.filter(({ kind, version }) => passed[kind] !== version);
  if (untested.length === 0) return;
  const names = new Set(untested.map(({ kind, version }) => `${kind} ${version}`));
  throw new ReleaseRefused(
    `${[...names].join(", ")} has not passed the escape tests. Run npm run canary and npm run conformance with this version, then write it into deploy/escape-tests.json.`,
  );
}
