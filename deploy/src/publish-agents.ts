// Writes the signed list of shipped agents beside a release of the daemon. The list does not contain the
// agents themselves: hosts download them, and accept only what matches the hashes in the list.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentManifest, AgentTable, signManifest } from "@hawser/host-protocol";
import table from "../agents.json" with { type: "json" };
import type { ReleaseKeys } from "./release-keys.ts";

/** Contents of `agents.json` in this workspace. Raise its `serial` with every change. */
export const shippedAgents: AgentTable = AgentTable.parse(table);

export interface AgentsOptions {
  out: string;
  keys: ReleaseKeys;
  /** Default: the shipped list. */
  table?: AgentTable;
  publishedAt?: Date;
  /** When the list expires; default: in 90 days. */
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
  // A host that downloads meanwhile finds that the signature does not match, and tries again.
  for (const [file, content] of [
    ["agents.json.sig", signature],
    ["agents.json", text],
  ] as const) {
    writeFileSync(join(options.out, `${file}.next`), content);
    renameSync(join(options.out, `${file}.next`), join(options.out, file));
  }
  return manifest;
}
