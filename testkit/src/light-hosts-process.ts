// Many hosts in one process: each runs the daemon's real link, journal and command code, without agents.
// light-hosts.ts controls it over IPC.
import { join } from "node:path";
import { startHost, type Host } from "@hawser/daemon/host.ts";
import { pairHost } from "@hawser/daemon/link/doors.ts";
import { openState, type State } from "@hawser/daemon/state/state.ts";
import type { LightOrder } from "./light-hosts.ts";
import { serveOrders } from "./orders.ts";

const hosts = new Map<string, Host>();
const states = new Map<string, State>();
const directory = process.argv[2]!;

const orders = {
  /** Pairs and starts one host for each pairing token. */
  async start({ serverUrl, tokens }: LightOrder["start"]) {
    const started: string[] = [];
    const waiting = [...tokens];
    const worker = async () => {
      for (let token = waiting.pop(); token; token = waiting.pop()) {
        const state = openState(join(directory, token.slice(-12)));
        const { instanceId } = await pairHost(state, serverUrl, token);
        states.set(instanceId, state);
        started.push(instanceId);
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    // Not before all are paired: hosts that start keep this process busy for so long that a pairing
    // would not be answered in time.
    for (const id of started) hosts.set(id, startHost({ state: states.get(id)! }));
    return started;
  },
  append({ instanceId, sessionId, texts }: LightOrder["append"]) {
    const host = hosts.get(instanceId)!;
    const entries = texts.map((text) =>
      host.appendEntry(sessionId, {
        sessionUpdate: "agent_message_chunk",
        messageId: text,
        content: { type: "text", text },
      }),
    );
    return Promise.resolve(entries.map(({ seq }) => seq));
  },
  async stop({ instanceIds }: LightOrder["stop"]) {
    await Promise.all(instanceIds.map((id) => hosts.get(id)!.stop()));
    for (const id of instanceIds) hosts.delete(id);
  },
  startAgain({ instanceIds }: LightOrder["startAgain"]) {
    for (const id of instanceIds) hosts.set(id, startHost({ state: states.get(id)! }));
  },
  status() {
    return Promise.resolve([...hosts.values()].map((host) => host.status().state));
  },
};

serveOrders(orders);
