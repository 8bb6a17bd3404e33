// Pairs an invented host with the instance of a pairing token, without a fabric: for tests of the token.
import { makeFabricKeys } from "@hawser/control-plane/fabric/fabric-keys.ts";
import { createHostTokens } from "@hawser/control-plane/fabric/host-token.ts";
import { createNonces, pairHost } from "@hawser/control-plane/instances/host-identity.ts";
import type { Database } from "@hawser/control-plane/postgres/database.ts";
import { makeNkey, type PairReply } from "@hawser/host-protocol";

const { keys } = makeFabricKeys();

export function pairAny(database: Database, pairingToken: string): Promise<PairReply> {
  const parts = {
    database,
    tokens: createHostTokens(keys, 3600),
    commandKey: keys.commandKey.publicKey,
    nonces: createNonces(Buffer.alloc(32)),
    cutOff: () => Promise.resolve(),
  };
  const { publicKey } = makeNkey("user");
  const request = { pairingToken, publicKey, machineId: publicKey, daemonVersion: "0.0.0" };
  return pairHost(parts, request, "test", () => {});
}
