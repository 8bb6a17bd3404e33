// The basis of the group `read`: one PostgreSQL cluster, with worlds in seeded databases.
import { borrowed, forMeasuring, startPostgres } from "@hawser/testkit/postgres.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import { seed, type Sizes } from "./seed.ts";

/** Progress goes to stderr; stdout is for figures. */
export const say = (line: string) => void process.stderr.write(`${line}\n`);

/** Database connections on either side, and connections of the load generator. */
export const connections = 16;

export interface Stage extends AsyncDisposable {
  /** Starts a world with its own seeded database in the stage's cluster. */
  addWorld(sizes: Sizes, environment?: Record<string, string>): Promise<World>;
}

export async function openStage(): Promise<Stage> {
  const parts = new AsyncDisposableStack();
  const cluster = parts.use(
    await startPostgres({
      ...forMeasuring,
      // Enough memory for the tables of both worlds.
      settings: { ...forMeasuring.settings, shared_buffers: "1GB" },
    }),
  );
  return {
    async addWorld(sizes, environment = {}) {
      const world = parts.use(
        await startWorld({
          // Both worlds of a comparison use this cluster.
          cluster: borrowed(cluster),
          environment: {
            HAWSER_DATABASE_CONNECTIONS: String(connections),
            HAWSER_RATE_PER_SECOND: "1000000",
            HAWSER_RATE_BURST: "1000000",
            ...environment,
          },
        }),
      );
      await seed(world, sizes, say);
      return world;
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

export function fullSizes(quick: boolean): Sizes {
  return quick
    ? { sessions: 20_000, organizations: 10, instances: 100 }
    : { sessions: 1_000_000, organizations: 10, instances: 2_000 };
}

export const smallSizes: Sizes = { sessions: 1_000, organizations: 10, instances: 20 };
