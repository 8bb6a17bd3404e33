// The list of agents that the service ships, signed, beside a release of the daemon. The agents
// themselves are not in it: hosts download them, and take what fits the hashes of the list.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentManifest, AgentTable, signManifest } from "@hawser/host-protocol";
import table from "../agents.json" with { type: "json" };
import type { ReleaseKeys } from "./release-keys.ts";

/** What `agents.json` in this workspace says. Raise its `serial` with every change. */
export const shippedAgents: AgentTable = AgentTable.parse(table);

export interface AgentsOptions {
  out: string;
  keys: ReleaseKeys;
  /** What is shipped, unless another list is given. */
  table?: AgentTable;
  publishedAt?: Date;
  /** Until when the list may be used; 90 days unless given. */
  expiresAt?: Date;
}

const goodForMs = 90 * 86_400_000;

export function publishAgents(options: AgentsOptions): AgentManifest {
  const publishedAt = options.publishedAt ?? new Date();
  const expiresAt = options.expiresAt ?? new Date(publishedAt.getTime() + goodForMs);
  const manifest = AgentManifest.parse({
    type: "hawser agents",
    ...(options.table ?? shippedAgents),
    publishedAt: publishedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  });
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  const signature = signManifest(options.keys.keys[0].privateKey, text);
  // Whoever downloads meanwhile sees a signature that does not fit, and tries again.
  for (const [file, content] of [
    ["agents.json.sig", signature],
    ["agents.json", text],
  ] as const) {
    writeFileSync(join(options.out, `${file}.next`), content);
    renameSync(join(options.out, `${file}.next`), join(options.out, file));
  }
  return manifest;
}
