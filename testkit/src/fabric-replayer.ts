// Delivers what was said on the fabric once more: late, often, out of order, or to the wrong host, as
// a network between NATS servers might, or someone who can publish there.
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

/** A message that was said again and answered; `command` is its text when it was one. */
export interface Replayed {
  subject: string;
  command?: string;
  reply: string;
}

export interface FabricReplayer extends AsyncDisposable {
  /** Says these of all messages heard so far again (0 the first, near 1 the last); gives their number. */
  replay(order: ReplayOrder["replay"]): Promise<number>;
  /** Everything once more, the last first. */
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
