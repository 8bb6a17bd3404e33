// What a daemon tells about its machine.
import { AgentKind, RootRecord } from "@hawser/contract";
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
    }),
  ),
  roots: z.array(RootRecord),
  codeHostingCli: z
    .strictObject({ installed: z.boolean(), loggedIn: z.boolean(), account: z.string().nullable() })
    .nullable(),
});
export type HostFacts = z.infer<typeof HostFacts>;
