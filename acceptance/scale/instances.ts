// S2: how the work of nodes grows with the number of instances and connections in the database. Work for one
// host must cost the same in a small and in a large fleet; a list of all hosts grows with their number, and
// no faster.
import {
  openInstanceStages,
  steadyWork,
  wholeLists,
  type InstanceStage,
  type SteadyWork,
  type WholeList,
} from "@hawser/testkit/instance-stage.ts";
import { atMost, reported, type Figure } from "./figure.ts";
import { median } from "./fit.ts";
import { say } from "./stage.ts";

export interface InstancesSize {
  /** Numbers of instances, growing. */
  instances: readonly number[];
  rounds: number;
  /** How often each kind of work is done in a round. */
  times: number;
  /** How often the lists are read. */
  lists: number;
}

export const instancesSizes: Record<"large" | "small", InstancesSize> = {
  large: { instances: [10_000, 100_000, 1_000_000], rounds: 15, times: 20, lists: 5 },
  small: { instances: [2_000, 4_000, 8_000], rounds: 1, times: 4, lists: 1 },
};

/** What one piece of work costs. */
export interface WorkCost {
  /** How long a node waits for it, with the way to PostgreSQL and commits. */
  milliseconds: number;
  /** How long PostgreSQL works on its statements. */
  postgresMs: number;
  /** Pages that its statements read or change. */
  pages: number;
}

export interface InstancesPoint {
  instances: number;
  work: Record<SteadyWork, WorkCost>;
  lists: Record<WholeList, WorkCost>;
}

/** Measures the sizes in turns, so that all find the machine equally busy. */
export async function growInstances(size: InstancesSize): Promise<InstancesPoint[]> {
  say(`storing ${size.instances.join(", ")} instances`);
  await using opened = await openInstanceStages(size.instances);
  const { stages } = opened;
  const measured = stages.map(({ instances }) => ({
    instances,
    work: noCosts(steadyWork),
    lists: noCosts(wholeLists),
  }));
  // The first round is not counted: statements are prepared, and pages are read from the disk.
  for (let round = -1; round < size.rounds; round++) {
    say(`round ${round + 2} of ${size.rounds + 1}`);
    for (const work of steadyWork) {
      for (const [index, stage] of stages.entries()) {
        const cost = await costOf(stage, work, size.times);
        if (round >= 0) measured[index]!.work[work].push(cost);
      }
    }
  }
  say("reading the lists of all instances");
  for (let round = -1; round < size.lists; round++) {
    for (const list of wholeLists) {
      for (const [index, stage] of stages.entries()) {
        const cost = await costOf(stage, list, 1);
        if (round >= 0) measured[index]!.lists[list].push(cost);
      }
    }
  }
  const points = measured.map(({ instances, ...costs }) => ({
    instances,
    work: typical(costs.work),
    lists: typical(costs.lists),
  }));
  for (const { instances, work, lists } of points) {
    const shown = Object.entries<WorkCost>({ ...work, ...lists }).map(
      ([name, { milliseconds, postgresMs, pages }]) =>
        `${name} ${milliseconds.toFixed(3)} (${postgresMs.toFixed(3)}, ${pages.toFixed(0)})`,
    );
    say(`${instances} instances, ms (of PostgreSQL, pages): ${shown.join(", ")}`);
  }
  return points;
}

export function instancesFigures(points: readonly InstancesPoint[]): Figure[] {
  const name = (rest: string) => `instances_${rest}`;
  const largest = points.at(-1)!;
  const growthOf = (work: SteadyWork, quantity: keyof WorkCost) =>
    growth(points, (point) => point.work[work][quantity]);
  const most = (quantity: keyof WorkCost) =>
    Math.max(...steadyWork.map((work) => growthOf(work, quantity)));
  return [
    ...steadyWork.map((work) =>
      atMost(name(`${work}_growth`), growthOf(work, "milliseconds"), 1.3),
    ),
    // An index of more rows is one or two levels deeper. Work that reads a whole table needs as many times
    // more pages as there are more instances.
    atMost(name("pages_growth"), most("pages"), 2),
    // Statements of less than 0.1 ms, which find fewer of their pages in the processor's cache.
    reported(name("postgres_time_growth"), most("postgresMs")),
    ...wholeLists.map((list) =>
      atMost(
        name(`list_of_${list}_beside_linear`),
        growth(points, ({ lists, instances }) => lists[list].milliseconds / instances),
        1.2,
      ),
    ),
    ...wholeLists.map((list) =>
      reported(name(`list_of_${list}_ms`), largest.lists[list].milliseconds),
    ),
  ];
}

/** The largest cost of any size, as a multiple of the cost in the smallest one. */
export function growth(
  points: readonly InstancesPoint[],
  cost: (point: InstancesPoint) => number,
): number {
  const [smallest, ...larger] = points.map(cost);
  return Math.max(...larger) / smallest!;
}

async function costOf(
  stage: InstanceStage,
  work: SteadyWork | WholeList,
  times: number,
): Promise<WorkCost> {
  const before = await stage.counted();
  const took: number[] = [];
  for (let n = 0; n < times; n++) {
    const startedAt = performance.now();
    await stage.run(work);
    took.push(performance.now() - startedAt);
  }
  const after = await stage.counted();
  return {
    milliseconds: median(took),
    postgresMs: (after.milliseconds - before.milliseconds) / times,
    pages: (after.pages - before.pages) / times,
  };
}

function noCosts<Name extends string>(names: readonly Name[]): Record<Name, WorkCost[]> {
  const entries = names.map((name) => [name, []]);
  return Object.fromEntries(entries) as Record<Name, WorkCost[]>;
}

/** The medians of the rounds. */
function typical<Name extends string>(costs: Record<Name, WorkCost[]>): Record<Name, WorkCost> {
  const entries = Object.entries<WorkCost[]>(costs).map(([name, rounds]) => {
    const of = (quantity: keyof WorkCost) => median(rounds.map((cost) => cost[quantity]));
    return [
      name,
      { milliseconds: of("milliseconds"), postgresMs: of("postgresMs"), pages: of("pages") },
    ];
  });
  return Object.fromEntries(entries) as Record<Name, WorkCost>;
}
