// Delivers messages of the fabric again: late, often, out of order, or to the wrong host, as a network
// between NATS servers might, or an attacker who can publish there.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openOrders } from "./orders.ts";
import { stopProcess } from "./stop-process.ts";
import type { World } from "./world.ts";
import { nodeEnvironment } from "./node-environment.ts";

export interface ReplayOrder {
  replay: { places: number[]; twice: boolean; astray: boolean };
  replayAll: object;
  replayed: object;
}

/** A message that was sent again and answered. `command` is its text if it was a command. */
export interface Replayed {
  subject: string;
  command?: string;
  reply: string;
}

export interface FabricReplayer extends AsyncDisposable {
  /** Sends recorded messages again, each chosen by a fraction of the record: 0 is the first. Returns their number. */
  replay(order: ReplayOrder["replay"]): Promise<number>;
  /** Sends every recorded message again, the newest first. */
  replayAll(): Promise<number>;
  replayed(): Promise<Replayed[]>;
}

const program = fileURLToPath(import.meta.resolve("./fabric-replayer-process.ts"));

export async function startFabricReplayer(world: World): Promise<FabricReplayer> {
  const { database, masterKeyFile, nats } = world;
  const child = fork(program, [database.url, masterKeyFile, nats!.urls.join(",")], {
    env: nodeEnvironment(),
  });
  const { ready, tell } = openOrders(child);
  await ready;
  return {
    replay: (order) => tell("replay", order),
    replayAll: () => tell("replayAll"),
    replayed: () => tell("replayed"),
    [Symbol.asyncDispose]: () => stopProcess(child, "SIGKILL"),
  };
}
