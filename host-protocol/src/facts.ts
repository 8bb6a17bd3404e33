// Facts that a daemon reports about its machine. An older daemon may omit newer fields. A node ignores fields
// and kinds that it does not know.
import { AgentKind, AgentProblem, HostOperation, HostWarning, RootRecord } from "@hawser/contract";
import { z } from "zod";

export const HostFacts = z.strictObject({
  host: z.strictObject({ hostname: z.string(), os: z.string(), arch: z.string() }),
  daemonVersion: z.string(),
  agents: z.array(
    z.strictObject({
      kind: AgentKind,
      installed: z.boolean(),
      version: z.string().nullable(),
      ready: z.boolean(),
      problems: z.array(AgentProblem).optional(),
    }),
  ),
  roots: z.array(RootRecord),
  codeHostingCli: z
    .strictObject({ installed: z.boolean(), loggedIn: z.boolean(), account: z.string().nullable() })
    .nullable(),
  warnings: z.array(HostWarning).optional(),
  operations: z.array(HostOperation).optional(),
});
export type HostFacts = z.infer<typeof HostFacts>;
