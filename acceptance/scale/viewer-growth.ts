// S6: what viewers cost, each with a key of its own: while nothing happens, and when what they watch
// changes. Half of them follow one session, the other half the events of the organization. In the end every
// notice between nodes is dropped, and viewers must be right all the same.
import { setTimeout as sleep } from "node:timers/promises";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import {
  organizationStream,
  sessionStream,
  startViewers,
  type Viewers,
} from "@hawser/testkit/viewers.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atMost, reported, type Figure } from "./figure.ts";
import { slopes, type Point } from "./fit.ts";
import { costOf, describe, perHour, readStatements, type Statements } from "./meter.ts";
import { addLightHosts, makeViewerKeys, openScaleWorld, say } from "./stage.ts";

export interface ViewerGrowthSize {
  /** Numbers of viewers, even and growing. */
  viewers: readonly number[];
  /** Time for the reads and writes of a new stream, before a measurement begins. */
  settleSeconds: number;
  /** Long enough that the use of each key is recorded once. */
  windowSeconds: number;
  /** How many changes of each kind the viewers receive. */
  changes: number;
  /** How many further changes are made while every notice is dropped. */
  unnoticed: number;
}

export const viewerGrowthSizes: Record<"large" | "small", ViewerGrowthSize> = {
  large: {
    viewers: [200, 1_000, 5_000],
    settleSeconds: 15,
    windowSeconds: 300,
    changes: 20,
    unnoticed: 10,
  },
  small: { viewers: [4, 8, 20], settleSeconds: 1, windowSeconds: 1, changes: 3, unnoticed: 1 },
};

/** A changed record, or a new log entry. Also the name of the frame that viewers receive. */
type Change = "record" | "entry";
const kindsOfChange = ["record", "entry"] as const;

interface ViewerGrowth {
  points: Point[];
  /** Queries that the largest number of viewers adds to one change, on their one node. */
  queriesPerChange: Record<Change, number>;
  /** Streams that had to read everything again although no notice was lost. */
  needlessResyncs: number;
  /** The longest times from a change without notices until the last viewer knew of it. */
  unnoticedMs: { session: number; organization: number };
}

/** The subjects of all notices between nodes. */
const everyNotice = /^(?:org|session|viewers)\./;

const openedAtOnce = 50;
const deliveryMs = 60_000;
/** The work that nodes repeat most often comes every five seconds or sooner. */
const repeatedWorkMs = 6_000;

/** Measures and fits. */
export async function growViewers(size: ViewerGrowthSize): Promise<ViewerGrowth> {
  await using world = await openScaleWorld({ countsQueries: true, noticeProxy: true });
  await using hosts = await addLightHosts(world, 1);
  const instanceId = hosts.instanceIds[0]!;
  const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
  await using viewers = startViewers([...kindsOfChange, "resync"]);
  let made = 0;
  const make: Record<Change, () => Promise<unknown>> = {
    record: () => world.caller.rename_session({ sessionId: sessionId!, title: `title ${made++}` }),
    entry: () => hosts.append(instanceId, sessionId!, [`entry ${made++}`]),
  };

  /** How often each statement runs during some work; statements that run less often are left out. */
  async function statementsDuring(
    work: () => Promise<unknown>,
    leastCalls: number,
  ): Promise<Statements> {
    const before = await readStatements(world);
    await work();
    const after = [...(await readStatements(world))];
    const runs = after.map(([id, calls]) => [id, calls - (before.get(id) ?? 0)] as const);
    return new Map(runs.filter(([, calls]) => calls >= leastCalls));
  }

  const statementsOfChanges = (change: Change, watching: number) =>
    statementsDuring(async () => {
      for (let i = 0; i < size.changes; i++) {
        await make[change]();
        if (watching > 0) {
          await viewers.frames({ name: change, count: watching, patienceMs: deliveryMs });
        }
        // The change is stored, or its last reader is done.
        await sleep(200);
      }
      // A statement that did not run for each change has another cause, such as a job of every ten seconds.
    }, size.changes);

  // What only a first change causes is not counted.
  for (const change of kindsOfChange) await statementsOfChanges(change, 0);
  const unwatched = {
    record: await statementsOfChanges("record", 0),
    entry: await statementsOfChanges("entry", 0),
  };

  const points: Point[] = [];
  let present = 0;
  for (const count of size.viewers) {
    await openStreams(world, viewers, sessionId!, count - present);
    present = count;
    await sleep(size.settleSeconds * 1000);
    const hourly = perHour(await costOf(world, () => sleep(size.windowSeconds * 1000)));
    points.push({ count, hourly });
    say(`${count} viewers idle, per hour: ${describe(hourly)}`);
  }

  const anyway = new Set((await statementsDuring(() => sleep(repeatedWorkMs), 1)).keys());
  const queriesPerChange = { record: 0, entry: 0 };
  for (const change of kindsOfChange) {
    const watched = await statementsOfChanges(change, present / 2);
    const more = countCalls(watched, anyway) - countCalls(unwatched[change], anyway);
    queriesPerChange[change] = more / size.changes;
  }
  const needlessResyncs = (await viewers.counts())["resync"]!;

  const unnoticedMs = { session: 0, organization: 0 };
  world.notices!.lose(everyNotice);
  for (let i = 0; i < size.unnoticed; i++) {
    const startedAt = performance.now();
    for (const change of kindsOfChange) await make[change]();
    const arrival = async (name: string) => {
      await viewers.frames({ name, count: present / 2, patienceMs: deliveryMs });
      return performance.now() - startedAt;
    };
    const [record, entry, resync] = await Promise.all(["record", "entry", "resync"].map(arrival));
    unnoticedMs.session = Math.max(unnoticedMs.session, record!, entry!);
    unnoticedMs.organization = Math.max(unnoticedMs.organization, resync!);
  }
  if (world.notices!.lost() === 0) throw new Error("No notice was dropped.");
  return { points, queriesPerChange, needlessResyncs, unnoticedMs };
}

export function viewerGrowthFigures(growth: ViewerGrowth): Figure[] {
  const { points, queriesPerChange, needlessResyncs, unnoticedMs } = growth;
  const { transactions, walBytes, nodeSeconds, postgresSeconds } = slopes(points);
  const name = (rest: string) => `viewer_growth_${rest}`;
  return [
    atMost(name("transactions_per_viewer_hour"), transactions, 20),
    atMost(name("queries_per_record_change"), queriesPerChange.record, 2),
    atMost(name("queries_per_entry"), queriesPerChange.entry, 2),
    atMost(name("needless_resyncs"), needlessResyncs, 0),
    atMost(name("all_notices_lost_session_ms"), unnoticedMs.session, 6_000),
    atMost(name("all_notices_lost_organization_ms"), unnoticedMs.organization, 6_000),
    reported(name("node_cpu_ms_per_viewer_hour"), nodeSeconds * 1000),
    reported(name("postgres_cpu_ms_per_viewer_hour"), postgresSeconds * 1000),
    reported(name("wal_bytes_per_viewer_hour"), walBytes),
  ];
}

/** Calls of all statements but these. */
function countCalls(statements: Statements, except: Set<string>): number {
  const counted = [...statements].filter(([id]) => !except.has(id));
  return counted.reduce((sum, [, calls]) => sum + calls, 0);
}

/** Opens streams of both kinds in turn, and waits until each viewer of the session has its record. */
async function openStreams(
  world: World,
  viewers: Viewers,
  sessionId: string,
  count: number,
): Promise<void> {
  const keys = await makeViewerKeys(world, count);
  const { lastSeq } = await world.caller.list_session_events({ sessionId });
  const urls = [
    sessionStream(world.baseUrl, sessionId, lastSeq),
    organizationStream(world.baseUrl),
  ];
  const streams = keys.map((key, index) => ({ url: urls[index % 2]!, key }));
  for (let i = 0; i < streams.length; i += openedAtOnce) {
    await viewers.open(streams.slice(i, i + openedAtOnce));
  }
  await viewers.frames({ name: "record", count: count / 2, patienceMs: deliveryMs });
}
