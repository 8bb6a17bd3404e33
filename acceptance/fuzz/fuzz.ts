// The fuzzer as a whole: a world to aim at, the actions with their shapes, and a run over them.
import { extensionNames } from "@hawser/contract";
import { fingerprint } from "@hawser/testkit/fingerprint.ts";
import type { World } from "@hawser/testkit/world.ts";
import { openClient } from "./client.ts";
import { runAction, type ActionRun, type Target } from "./run.ts";
import { readPin, readPublished, type ActionShape } from "./shape.ts";

/** For the world's nodes: a limit far above what a run needs, and a log of faults only. */
export const environment = {
  HAWSER_RATE_PER_SECOND: "1000000",
  HAWSER_RATE_BURST: "1000000",
  HAWSER_LOG_LEVEL: "error",
};

export interface FuzzOptions {
  seed: string;
  /** How many cases each action gets, or which. */
  cases: number | readonly number[];
  /** All of them when left out. */
  actions?: readonly string[];
  onAction?: (run: ActionRun) => void;
}

export async function fuzz(world: World, options: FuzzOptions): Promise<ActionRun[]> {
  const { seed, cases } = options;
  const indexes = typeof cases === "number" ? Array.from({ length: cases }, (_, i) => i) : cases;
  using client = openClient(world.baseUrl, world.organizations[0].keys.owner);
  const published = await readListing(client);
  const pinned = readPin();
  const shapes = [
    ...pinned,
    ...extensionNames.map((name) => readPublished(name, published.get(name) ?? {})),
  ];
  const { instance } = await world.caller.create_instance({ name: "known to the fuzzer" });
  const node = world.nodes[0]!;
  let seen = node.log.length;
  const target: Target = {
    client,
    known: { instanceId: instance.instanceId },
    fingerprint: () => fingerprint(world.database.url),
    async complaints() {
      const health = await client.get("/healthz").then(
        ({ status }) => (status === 200 ? [] : [`/healthz answers ${status}`]),
        (error: Error) => [`the node does not answer: ${error.message}`],
      );
      const faults = node.log.slice(seen).map(({ msg, err }) => {
        const { name, message } = (err ?? {}) as Partial<Error>;
        return `it logged a fault: ${String(msg)}: ${name}: ${message}`;
      });
      seen = node.log.length;
      return [...health, ...new Set(faults)];
    },
  };
  const runs: ActionRun[] = [];
  for (const shape of chosen(shapes, options.actions)) {
    const run = await runAction(target, shape, { seed, indexes });
    options.onAction?.(run);
    runs.push(run);
  }
  return runs;
}

function chosen(shapes: ActionShape[], wanted: readonly string[] | undefined): ActionShape[] {
  if (!wanted) return shapes;
  return wanted.map((name) => {
    const shape = shapes.find((known) => known.name === name);
    if (!shape) throw new Error(`There is no action ${name}.`);
    return shape;
  });
}

async function readListing(client: ReturnType<typeof openClient>): Promise<Map<string, unknown>> {
  const { text } = await client.get("/api/rest/actions");
  const { actions } = JSON.parse(text) as { actions: { name: string; input: unknown }[] };
  return new Map(actions.map(({ name, input }) => [name, input]));
}
