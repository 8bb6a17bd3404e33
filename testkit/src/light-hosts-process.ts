// Many hosts in one process: each runs the daemon's real link, journal and command code, without agents or with
// the scripted one. light-hosts.ts controls it over IPC.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createScriptedAgent } from "@hawser/daemon/drivers/scripted/agent.ts";
import { createScriptedDriver } from "@hawser/daemon/drivers/scripted/driver.ts";
import { startHost, type Host } from "@hawser/daemon/host.ts";
import { pairHost } from "@hawser/daemon/link/doors.ts";
import type { LinkTiming } from "@hawser/daemon/link/timing.ts";
import { readTokenLife } from "@hawser/daemon/link/token.ts";
import { openState, type State } from "@hawser/daemon/state/state.ts";
import type { LightOrder } from "./light-hosts.ts";
import { serveOrders } from "./orders.ts";

const hosts = new Map<string, Host>();
const states = new Map<string, State>();
const directory = process.argv[2]!;
let timing: Partial<LinkTiming> = {};
let root: string | undefined;

function startPaired(id: string): void {
  const state = states.get(id)!;
  if (root !== undefined) writeFileSync(state.policyPath, `root = ${root}\n`);
  const drivers = () => (root === undefined ? [] : [createScriptedDriver(createScriptedAgent())]);
  hosts.set(id, startHost({ state, timing, drivers }));
}

const orders = {
  /** Pairs one host for each pairing token, and returns their instances. */
  pair({ serverUrl, tokens }: LightOrder["pair"]) {
    return Promise.all(
      tokens.map(async (token) => {
        const state = openState(join(directory, token.slice(-12)));
        const { instanceId } = await pairHost(state, serverUrl, token);
        states.set(instanceId, state);
        return instanceId;
      }),
    );
  },
  /**
   * Starts all hosts, when all are paired: hosts that start keep this process busy for so long that a
   * pairing would not be answered in time.
   */
  start({ timing: given, root: chosen }: LightOrder["start"]) {
    timing = given;
    root = chosen;
    if (root !== undefined) mkdirSync(root, { recursive: true });
    [...states.keys()].forEach(startPaired);
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
    instanceIds.forEach(startPaired);
  },
  paired() {
    const ids = [...states].filter(([, state]) => state.readCredentials()).map(([id]) => id);
    return Promise.resolve(ids);
  },
  status() {
    return Promise.resolve([...hosts.values()].map((host) => host.status().state));
  },
  renewalSeconds() {
    const seconds = [...states.values()].map((state) => {
      const { token } = state.readCredentials()!;
      return readTokenLife(token).renewAt / 1000 - issuedAt(token);
    });
    return seconds.reduce((sum, each) => sum + each, 0) / seconds.length;
  },
};

/** In seconds since 1970. */
function issuedAt(token: string): number {
  const claims = Buffer.from(token.split(".")[1]!, "base64url").toString();
  return (JSON.parse(claims) as { iat: number }).iat;
}

serveOrders(orders);
