// Two real nodes on one database, for what has to hold whichever of them answers.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControlPlaneNode, type ControlPlaneNode } from "./control-plane-node.ts";
import { openServiceDatabase, type ServiceDatabase } from "./service-database.ts";

export interface TwoNodes extends AsyncDisposable {
  service: ServiceDatabase;
  masterKey: Buffer;
  nodes: [ControlPlaneNode, ControlPlaneNode];
}

export async function startTwoNodes(environment: Record<string, string> = {}): Promise<TwoNodes> {
  await using parts = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "hawser-two-nodes-"));
  parts.defer(() => rmSync(directory, { recursive: true }));
  const service = parts.use(await openServiceDatabase());
  const masterKey = randomBytes(32);
  const masterKeyFile = join(directory, "master-key");
  writeFileSync(masterKeyFile, masterKey.toString("hex"));
  const start = () =>
    startControlPlaneNode({ databaseUrl: service.url, masterKeyFile, environment });
  // One after the other: if the second one does not start, the first one is stopped.
  const nodes: TwoNodes["nodes"] = [parts.use(await start()), parts.use(await start())];
  const owned = parts.move();
  return { service, masterKey, nodes, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
