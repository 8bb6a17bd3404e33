// `npm run faults -- rotation`: replaces each key of the service as the guide says, while hosts are
// connected and callers send them commands. No command may be lost, and no host shown offline.
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { runControlPlane } from "@hawser/testkit/control-plane-command.ts";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { withTraffic, type Traffic } from "./rotation-traffic.ts";
import { violation, type Violation } from "./violation.ts";

export interface RotationOptions {
  keys: readonly RotatedKey[];
  hosts: number;
  onNote?: (line: string) => void;
}

export interface RotationResult extends Traffic {
  key: RotatedKey;
  hosts: number;
  /** Hosts that were away during the rotation, and work afterwards. */
  returned: number;
  seconds: number;
  violations: Violation[];
}

interface Bed {
  world: World;
  /** Starts the hosts again that are away. */
  bringBack: () => Promise<void>;
  /** Runs a command of the control plane until it succeeds. */
  run: (...args: string[]) => Promise<void>;
  /** Runs a command that must be refused with this text. */
  refused: (text: RegExp, ...args: string[]) => Promise<void>;
}

export const rotations = {
  /** The key that signs commands. */
  async command({ run, refused, bringBack }: Bed) {
    await run("rotate", "command-key", "begin");
    await run("rotate", "command-key", "switch");
    await refused(/have not pinned the new key/, "rotate", "command-key", "finish");
    await bringBack();
    await run("rotate", "command-key", "finish");
  },
  /** The keys of NATS: operator, system account, and the signers of nodes and hosts. */
  async nats({ world, run, refused, bringBack }: Bed) {
    const { directory, servers } = world.nats!;
    const rotate = (step: string) => ["rotate", "nats-keys", step, "--directory", directory];
    const restart = async () => {
      for (const server of servers) await server.restart();
    };
    await run(...rotate("begin"));
    await refused(/does not trust the next operator/, ...rotate("switch"));
    await restart();
    await run(...rotate("switch"));
    await run(...rotate("finish"));
    await restart();
    await bringBack();
  },
  /** The key that encrypts the service's secrets. */
  async master({ world, run, refused, bringBack }: Bed) {
    const former = readFileSync(world.masterKeyFile, "utf8").trim();
    const next = randomBytes(32).toString("hex");
    await refused(/There is one master key/, "rotate", "master-key");
    writeFileSync(world.masterKeyFile, `${former}\n${next}\n`);
    await run("rotate", "master-key");
    writeFileSync(world.masterKeyFile, `${next}\n`);
    // A node that starts now has the new key alone; the running ones go on.
    await world.addNode();
    await run("rotate", "command-key", "begin");
    await bringBack();
    await run("rotate", "command-key", "switch");
  },
} satisfies Record<string, (bed: Bed) => Promise<void>>;
export type RotatedKey = keyof typeof rotations;

const patienceMs = 90_000;

/** Rotates the keys one after the other, in one world. */
export async function* runRotations(options: RotationOptions): AsyncGenerator<RotationResult> {
  const note = options.onNote ?? (() => {});
  await using world = await startWorld({
    nodes: 2,
    nats: 1,
    environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" },
  });
  await using light = await startLightHosts(world.caller, world.baseUrl, options.hosts);
  for (const key of options.keys) yield await runRotation(world, light, key, note);
}

async function runRotation(
  world: World,
  light: LightHosts,
  key: RotatedKey,
  note: (line: string) => void,
): Promise<RotationResult> {
  const { caller } = world;
  const owner = world.organizations[0].keys.owner;
  const callers = world.nodes.map((_node, at) => world.callerFor(owner, at));
  const areOnline = async () => (await light.states()).every((state) => state === "online");
  await until("every host is online", areOnline, patienceMs);
  const count = light.instanceIds.length;
  const away = light.instanceIds.slice(0, Math.max(1, Math.floor(count / 20)));
  const staying = light.instanceIds.slice(away.length);
  await light.stop(away);
  note(`${key}: ${staying.length} hosts are connected, ${away.length} are away`);

  const began = performance.now();
  let returned = 0;
  const violations: Violation[] = [];
  const command = async (args: string[]) => {
    const end = await runControlPlane(world, args);
    note(`${args.join(" ")}: ${end.stdout}${end.stderr}`.trim());
    return end;
  };
  // Some steps are refused until all hosts and nodes know the keys.
  const run = (...args: string[]) =>
    until(args.join(" "), async () => (await command(args)).status === 0, patienceMs);
  const refused = (text: RegExp, ...args: string[]) =>
    until(
      `a refusal of ${args.join(" ")}`,
      async () => {
        const { status, stderr } = await command(args);
        if (status === 0) violations.push(violation("a step is refused that loses hosts", args));
        return status === 0 || text.test(stderr);
      },
      patienceMs,
    );
  const bringBack = async () => {
    await light.startAgain(away);
    for (const instanceId of away) {
      await until(
        "a host that was away works again",
        async () => (await caller.try("refresh_instance", { instanceId })).status === 200,
        patienceMs,
      );
      returned += 1;
    }
    note(`${returned} hosts are back`);
  };
  const traffic = await withTraffic({ name: key, callers, instanceIds: staying }, () =>
    rotations[key]({ world, bringBack, run, refused }),
  );
  for (const line of traffic.lost) violations.push(violation("no command is lost", line));
  for (const id of traffic.offline) violations.push(violation("no host is shown offline", id));
  if (returned < away.length) violations.push(violation("hosts that were away return", returned));
  const seconds = Math.round((performance.now() - began) / 1000);
  return { ...traffic, key, hosts: count, returned, seconds, violations };
}
