// Records a CPU profile of a node under the loads of `read`, and prints where its time was spent. The
// profile is kept, for a browser's developer tools.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import type { World } from "@hawser/testkit/world.ts";
import { fullSizes, openStage, say } from "./stage.ts";
import { getInstance, listSessions, type Subject } from "./subjects.ts";
import { startLoadGenerator } from "./workers.ts";

interface Frame {
  functionName: string;
  url: string;
  lineNumber: number;
}

interface Profile {
  nodes: {
    id: number;
    callFrame: Frame;
    children?: number[];
  }[];
  samples: number[];
  timeDeltas: number[];
}

const results = join(import.meta.dirname, "../.results");
const functionsShown = 40;

export async function profileReads(quick: boolean): Promise<void> {
  mkdirSync(results, { recursive: true });
  const directory = mkdtempSync(join(results, "profile-"));
  await profileInto(directory, quick);
  // The world's first node, which had no load, writes a profile too.
  for (const file of readdirSync(directory).filter(isFresh)) rmSync(join(directory, file));
}

/** As Node names them. */
const isFresh = (file: string) => file.startsWith("CPU.");

async function profileInto(directory: string, quick: boolean): Promise<void> {
  await using stage = await openStage();
  // A node writes its profile when it ends, so each load needs its own node.
  const world = await stage.addWorld(fullSizes(quick), {
    NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${directory}`,
  });
  const subjects: [string, Subject][] = [
    ["list_sessions", listSessions(world)],
    ["get_instance", await getInstance(world)],
  ];
  for (const [name, subject] of subjects) {
    const startMs = await loadAndStop(world, subject, quick ? 3 : 15);
    const written = readdirSync(directory).find(isFresh);
    const kept = join(directory, `${name}.cpuprofile`);
    renameSync(join(directory, written!), kept);
    say(`profile of ${name}: ${relative(process.cwd(), kept)}`);
    console.log(
      `${name}\n${summarize(JSON.parse(readFileSync(kept, "utf8")) as Profile, startMs)}`,
    );
  }
}

/** Returns the start-up time of the node, which is not part of the profile's result. */
async function loadAndStop(world: World, { job }: Subject, seconds: number): Promise<number> {
  await using load = startLoadGenerator();
  const startedAt = performance.now();
  const node = await world.addNode();
  const startMs = performance.now() - startedAt;
  const url = job.url.replace(world.baseUrl, node.baseUrl);
  const { perSecond } = await load.run({ ...job, url, seconds });
  say(`${perSecond.toFixed(0)} calls/s while profiled`);
  await stopProcess(node.process);
  return startMs;
}

/** Time by part and by function, in percent of the time the node was not waiting. */
function summarize({ nodes, samples, timeDeltas }: Profile, startMs: number): string {
  const frames = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((c) => [c, id])));
  const byPart = new Map<string, number>();
  const byFunction = new Map<string, number>();
  let elapsed = 0;
  let busy = 0;
  samples.forEach((id, index) => {
    const time = timeDeltas[index]!;
    elapsed += time;
    const frame = frames.get(id)!;
    if (elapsed < startMs * 1000 || frame.functionName === "(idle)") return;
    busy += time;
    add(byPart, partServed(id), time);
    add(byFunction, functionOf(frame), time);
  });
  return (
    `  by part, the time of Node's own code counted to the part that called it\n` +
    `${top(byPart, busy, Infinity)}\n` +
    `  by function, own time only\n${top(byFunction, busy, functionsShown)}\n`
  );

  function partServed(id: number): string {
    let outermost = "";
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const { url, functionName } = frames.get(at)!;
      const part = url === "" ? undefined : partOf(url);
      if (part) return part;
      if (functionName !== "(root)") outermost = url || functionName;
    }
    return outermost;
  }
}

function add(sums: Map<string, number>, name: string, time: number): void {
  sums.set(name, (sums.get(name) ?? 0) + time);
}

/** A package by its name, our own code by its folder; undefined for Node's own. */
function partOf(url: string): string | undefined {
  const packaged = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url);
  if (packaged) return packaged[1];
  return /\/(control-plane\/src\/[^/]+|contract)\b/.exec(url)?.[1];
}

function functionOf({ functionName, url, lineNumber }: Frame): string {
  const name = functionName || "(anonymous)";
  if (url === "") return name;
  return `${name}, ${partOf(url) ?? "node"}, ${url.split("/").at(-1)}:${lineNumber + 1}`;
}

function top(sums: Map<string, number>, whole: number, most: number): string {
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .filter(([, time]) => time > whole / 1000)
    .slice(0, most)
    .map(([name, time]) => `  ${((100 * time) / whole).toFixed(1).padStart(6)} %  ${name}`)
    .join("\n");
}
