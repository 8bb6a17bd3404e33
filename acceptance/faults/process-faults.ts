// Process faults: nodes, daemons, NATS servers and PostgreSQL are killed and started again.
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgresFaults } from "@hawser/testkit/postgres-restart.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { between, type Fault } from "./fault.ts";

export const nodeKilled: Fault = {
  id: "F1",
  title: "kill -9 of a node, and another one in its place",
  async open({ bed, random }) {
    return {
      async inject() {
        const node = random.pick(bed.nodes());
        await stopProcess(node.process, "SIGKILL");
        await bed.world.addNode();
        return `node ${node.pid} killed`;
      },
      heal: () => Promise.resolve(),
    };
  },
};

export const daemonKilled: Fault = {
  id: "F2",
  title: "kill -9 of a daemon, started again from its disk",
  async open({ bed, random }) {
    return {
      async inject() {
        const { host } = random.pick(bed.hosts);
        const downMs = random.oneIn(2) ? 0 : between(random, 1, 2_000);
        await host.kill();
        await sleep(downMs);
        await host.start();
        return `${host.instanceId} killed, back after ${downMs} ms`;
      },
      heal: () => Promise.resolve(),
    };
  },
};

export const natsKilled: Fault = {
  id: "F4",
  title: "kill -9 of one NATS server of three, then of all, also with their disks wiped",
  nats: 3,
  async open({ bed, random }) {
    const { servers } = bed.world.nats!;
    return {
      async inject(progress) {
        const victims = progress < 0.5 ? [random.pick(servers)] : servers;
        const downMs = between(random, 200, 3_000);
        const wipe = random.oneIn(2);
        await Promise.all(victims.map((server) => server.kill()));
        await sleep(downMs);
        await Promise.all(victims.map((server) => server.restart({ wipe })));
        return `${victims.length} NATS servers away for ${downMs} ms${wipe ? ", wiped" : ""}`;
      },
      heal: () => Promise.resolve(),
    };
  },
};

export const postgresFails: Fault = {
  id: "F5",
  title: "PostgreSQL frozen for 5 to 10 s, crashed, killed and started again",
  async open({ bed, random }) {
    const { postgresPid, url } = bed.world.database;
    if (!postgresPid) throw new Error("F5 needs a PostgreSQL cluster of its own.");
    const postgres = bed.parts.use(openPostgresFaults(postgresPid, url));
    let kind = random.below(3);
    return {
      async inject() {
        kind += 1;
        if (kind % 3 === 0) {
          const frozenMs = between(random, 5_000, 10_000);
          const thaw = postgres.freeze();
          await sleep(frozenMs);
          thaw();
          return `PostgreSQL frozen for ${frozenMs} ms`;
        }
        if (kind % 3 === 1) {
          postgres.crash();
          return "a PostgreSQL backend killed";
        }
        const downMs = between(random, 200, 3_000);
        await postgres.killFor(downMs);
        return `PostgreSQL killed, back after ${downMs} ms`;
      },
      heal: () => Promise.resolve(),
    };
  },
};
