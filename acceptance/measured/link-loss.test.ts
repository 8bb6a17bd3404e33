// Links that fail without an end: hosts that stall, links that are half-open, and outages. Many hosts
// each, and all three at once, because each takes its time.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { startCuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { startLightHosts } from "@hawser/testkit/light-hosts.ts";
import {
  watchPresence,
  type PresenceWatch,
  type Sighting,
} from "@hawser/testkit/presence-watch.ts";
import { freezeProcess } from "@hawser/testkit/processes.ts";
import { tell, tellTimes } from "../figures.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld({ nats: 1, environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" } });

const many = 50;
/** The long form waits as long as a real outage lasts. */
const outageMs = process.env["HAWSER_LONG"] ? 60_000 : 10_000;

const isOnline = ({ status }: Sighting) => status === "online";
const isOffline = ({ status }: Sighting) => status === "offline";

const portOf = ({ world }: Context) => Number(new URL(world.baseUrl).port);

/** The reasons shown for these instances, each once. */
function reasons(watch: PresenceWatch, instanceIds: string[]): (string | null)[] {
  return [...new Set(instanceIds.map((id) => watch.seen(id).at(-1)!.statusReason))];
}

/** The three that take their time run together; each scenario awaits its own. */
let trials: Record<"stalled" | "frozen" | "cut", Promise<void>> | undefined;
function trialsIn(context: Context) {
  if (!trials) {
    trials = { stalled: stall(context), frozen: freeze(context), cut: cut(context) };
    for (const trial of Object.values(trials)) trial.catch(() => {});
  }
  return trials;
}

scenario(
  "Hosts whose process is stopped are shown offline within 30 s, as stalled",
  [],
  (context) => trialsIn(context).stalled,
);

scenario(
  "Hosts behind a half-open link are shown offline within 30 s",
  [],
  (context) => trialsIn(context).frozen,
);

scenario("Hosts are back within 5 s after an outage", [], (context) => trialsIn(context).cut);

async function stall({ world, caller }: Context): Promise<void> {
  await using watch = watchPresence(caller);
  await using light = await startLightHosts(caller, world.baseUrl, many);
  await watch.until("online", light.instanceIds, isOnline);
  const since = performance.now();
  freezeProcess(light.pid);
  const patience = { since, patienceMs: 40_000 };
  const times = await watch.until("offline", light.instanceIds, isOffline, patience);
  assert.deepEqual(reasons(watch, light.instanceIds), ["daemon_stalled"]);
  tellTimes("fifty stopped (SIGSTOP), shown offline", times, 30_000);
  const awake = performance.now();
  process.kill(light.pid, "SIGCONT");
  const back = await watch.until("online", light.instanceIds, isOnline, { since: awake });
  tellTimes("the same, going on (SIGCONT), shown online", back);
}

async function freeze(context: Context): Promise<void> {
  const { caller } = context;
  await using proxy = await startCuttingProxy({ port: portOf(context) });
  await using watch = watchPresence(caller);
  await using light = await startLightHosts(caller, `http://127.0.0.1:${proxy.port}`, many);
  await watch.until("online", light.instanceIds, isOnline);
  const since = performance.now();
  proxy.freeze();
  const patience = { since, patienceMs: 40_000 };
  const times = await watch.until("offline", light.instanceIds, isOffline, patience);
  tell(`the reason shown for a half-open link: ${reasons(watch, light.instanceIds).join(", ")}`);
  tellTimes("fifty behind a half-open link, shown offline", times, 30_000);
}

async function cut(context: Context): Promise<void> {
  const { caller } = context;
  await using proxy = await startCuttingProxy({ port: portOf(context) });
  await using watch = watchPresence(caller);
  await using light = await startLightHosts(caller, `http://127.0.0.1:${proxy.port}`, many);
  await watch.until("online", light.instanceIds, isOnline);
  let since = performance.now();
  proxy.cut();
  const gone = await watch.until("offline", light.instanceIds, isOffline, { since });
  tellTimes("fifty cut off, shown offline", gone, 1_500);
  await sleep(outageMs - (performance.now() - since));
  since = performance.now();
  proxy.heal();
  const patience = { since, patienceMs: outageMs + 40_000 };
  const times = await watch.until("online", light.instanceIds, isOnline, patience);
  tellTimes(`fifty after an outage of ${outageMs / 1000} s, shown online`, times, 5_000);
}
