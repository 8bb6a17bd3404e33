// Lets the leader compare presence now, as a node does whose connection was lost, and reads from the
// nodes' logs what was compared. The nodes must log at level debug.
import { connectFabric } from "@hawser/control-plane/fabric/connection.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { comparePresenceSubject } from "@hawser/host-protocol";
import { until } from "./until.ts";
import type { World } from "./world.ts";

/** A line of the leader's log. */
export interface Comparison {
  /** Connections in the lists of all servers. */
  listed: number;
  /** Connections that had to be identified. */
  unknown: number;
  /** Recorded connections that no server listed. */
  gone: number;
  /** Servers whose list was incomplete. */
  cut: number;
  lostServers: number;
  /** How long the servers took to list, and the whole comparison. */
  listMs: number;
  ms: number;
}

export interface PresenceComparer extends AsyncDisposable {
  compare(): Promise<Comparison>;
}

const patienceMs = 60_000;

/** `url` is the nats-server that carries the request. */
export async function openPresenceComparer(
  { nats, nodes }: World,
  url = nats!.urls[0]!,
): Promise<PresenceComparer> {
  const log = createLog("silent");
  const fabric = await connectFabric({ keys: nats!.keys, urls: [url], name: "comparer", log });
  const compared = () =>
    nodes.flatMap((node) => node.log.filter(({ msg }) => msg === "presence compared"));
  return {
    async compare() {
      const before = new Set(compared());
      const fresh = () => compared().find((line) => !before.has(line));
      fabric.publish(comparePresenceSubject, "");
      await until("presence is compared", () => fresh() !== undefined, patienceMs);
      return fresh() as unknown as Comparison;
    },
    [Symbol.asyncDispose]: () => fabric.close(),
  };
}
