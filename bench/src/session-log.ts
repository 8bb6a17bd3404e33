// The figures of a long log of 10,000 entries: its first page, and all of it at a viewer, beside the same
// rows read by the bare driver.
import { parseId } from "@hawser/contract";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { sessionStream, startViewers } from "@hawser/testkit/viewers.ts";
import pg from "pg";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { addLightHosts, openLinkWorld } from "./link-stage.ts";
import { inTurns, millisecondsRound } from "./rounds.ts";
import { say } from "./stage.ts";

const entryCount = 10_000;
const goals = {
  first: {
    name: "session_log_first_page",
    unit: "ms",
    goal: 50,
    direction: "at most",
    held: "ours",
    meaning: `The first 200 of ${entryCount} entries by list_session_events, beside the bare query.`,
  },
  all: {
    name: "session_log_all",
    unit: "ms",
    goal: 1_000,
    direction: "at most",
    held: "ours",
    meaning: `All ${entryCount} entries at a viewer of the stream, beside one bare query for them.`,
  },
} satisfies Record<string, Goal>;

export async function* measureLongLog(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  await using world = await openLinkWorld(0);
  await using hosts = await addLightHosts(world, 1);
  const instanceId = hosts.instanceIds[0]!;
  const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
  const stored = parseId("session", sessionId!)!;
  await ownerSql(
    world.database.url,
    `INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, update)
     SELECT s.session_id, n, s.organization_id, hawser_now(), 'trn_bench',
            jsonb_build_object('sessionUpdate', 'agent_message_chunk', 'messageId', 'msg_' || n,
              'parentToolCallId', null,
              'content', jsonb_build_object('type', 'text', 'text', repeat('Some words. ', 20)))
       FROM sessions s, generate_series(1, ${entryCount}) AS n WHERE s.session_id = '${stored}'`,
  );
  await ownerSql(
    world.database.url,
    `UPDATE sessions SET applied_seq = ${entryCount} WHERE session_id = '${stored}'`,
  );
  const pool = new pg.Pool({ connectionString: world.database.url, max: 2 });
  await using _pool = { [Symbol.asyncDispose]: () => pool.end() };
  const read = (limit: number) =>
    pool.query({
      name: `read ${limit}`,
      text: `SELECT seq, at, turn_id, update FROM session_log WHERE session_id = $1 AND seq > 0 ORDER BY seq LIMIT ${limit}`,
      values: [stored],
    });
  const timed = async (work: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };
  const times = quick ? 1 : 15;

  say(goals.first.name);
  const page = { sessionId: sessionId!, limit: 200 };
  const first = await inTurns(
    times,
    () => timed(() => world.caller.list_session_events(page)),
    () => timed(() => read(200)),
    millisecondsRound,
  );
  yield [figureOf(goals.first, first), goals.first];

  say(goals.all.name);
  const { key } = world.caller;
  await using viewers = startViewers();
  const all = await inTurns(
    times,
    () =>
      timed(async () => {
        await viewers.open([{ url: sessionStream(world.baseUrl, sessionId!), key }]);
        await viewers.frames({ name: "entry", count: entryCount, patienceMs: 30_000 });
        await viewers.close();
      }),
    () => timed(() => read(entryCount)),
    millisecondsRound,
  );
  yield [figureOf(goals.all, all), goals.all];
}
