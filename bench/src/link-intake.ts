// The figure of the intake: reports of one entry each from 1,000 hosts at once, stored by a node, beside
// the same rows written by bare batched inserts. The difference is locking and updating each session's
// row, the checks, and the answers.
import { formatId, parseId } from "@hawser/contract";
import { createLog } from "@hawser/control-plane/log.ts";
import type { ReportingHost } from "@hawser/control-plane/session-log/apply-reports.ts";
import { makeNextPartitions } from "@hawser/control-plane/postgres/partitions.ts";
import { createIntake } from "@hawser/control-plane/session-log/intake.ts";
import { insertEntries } from "@hawser/control-plane/session-log/log-store.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { forMeasuring, startPostgres } from "@hawser/testkit/postgres.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import pg from "pg";
import { figureOf, type Figure, type Goal, type Round } from "./figure.ts";
import { say } from "./stage.ts";

const goal: Goal = {
  name: "link_intake",
  unit: "rows/s",
  goal: 0.5,
  direction: "at least",
  meaning:
    "Log entries taken in per second, from 1,000 hosts that report one entry at a time, beside " +
    "inserts of 500 such rows per transaction, as the owner of the tables.",
};

const hostCount = 1_000;
const batch = 500;
const update = {
  sessionUpdate: "agent_message_chunk",
  messageId: "msg_01",
  content: { type: "text", text: "The test failed because the cart was empty. ".repeat(6) },
};

interface SessionOfHost {
  host: ReportingHost;
  sessionId: string;
}

export async function* measureLinkIntake(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  await using service = await openServiceDatabase({ cluster: await startPostgres(forMeasuring) });
  await makeNextPartitions(service.database.system);
  const sessions = await addHosts(service);
  await using ours = openOurs(service, sessions);
  await using bare = await openBare(service, sessions);
  const seconds = quick ? 0.5 : 2;
  const warmUps = quick ? 0 : 2;
  const counted = quick ? 1 : 15;
  say(goal.name);
  const rounds: Round[] = [];
  for (let number = 1 - warmUps; number <= counted; number++) {
    const round = { ours: await ours.run(seconds), bare: await bare.run(seconds) };
    // The first rounds are not counted: code is compiled, and connections are opened.
    if (number > 0) rounds.push(round);
    const { ours: a, bare: b } = round;
    say(`  round ${number}: ${a.toFixed(0)}/s beside ${b.toFixed(0)}/s: ${(a / b).toFixed(3)}`);
  }
  await ours.verify();
  yield [figureOf(goal, rounds), goal];
}

async function addHosts(service: ServiceDatabase): Promise<SessionOfHost[]> {
  const made = await createTestOrganization(service.database, "Acme", "owner@acme.example");
  const organizationId = parseId("organization", made.organizationId)!;
  const rows = await ownerSql<{ instance_id: string; session_id: string }>(
    service.url,
    `WITH hosts AS (INSERT INTO instances (organization_id, name)
                    SELECT $1, 'host ' || n FROM generate_series(1, $2::int) n RETURNING instance_id)
     INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     SELECT $1, instance_id, 'codex', '{}' FROM hosts RETURNING instance_id, session_id`,
    [organizationId, hostCount],
  );
  return rows.map((row) => ({
    host: { organizationId, instanceId: row.instance_id },
    sessionId: row.session_id,
  }));
}

/** Each host sends its next entry when the previous one is applied. */
function openOurs(service: ServiceDatabase, sessions: SessionOfHost[]) {
  let applied = 0;
  const intake = createIntake({
    database: service.database,
    onApplied: () => {},
    log: createLog("warn"),
  });
  const seqs = sessions.map(() => 0);
  const reportUntil = async (index: number, end: number) => {
    const { host, sessionId } = sessions[index]!;
    const shownId = formatId("session", sessionId);
    while (performance.now() < end) {
      const entry = {
        seq: seqs[index]! + 1,
        at: new Date().toISOString(),
        turnId: "turn_1",
        update,
      };
      const reply = await intake.accept(host, {
        journalId: "bench",
        sessions: [{ sessionId: shownId, entries: [entry] }],
      });
      if (!("applied" in reply) || reply.applied[0]?.appliedSeq !== entry.seq) {
        throw new Error(`Entry ${entry.seq} was answered ${JSON.stringify(reply)}.`);
      }
      seqs[index] = entry.seq;
      applied += 1;
    }
  };
  return {
    async run(seconds: number): Promise<number> {
      const startedAt = performance.now();
      const before = applied;
      await Promise.all(seqs.map((_, index) => reportUntil(index, startedAt + seconds * 1000)));
      return ((applied - before) * 1000) / (performance.now() - startedAt);
    },
    async verify(): Promise<void> {
      const [row] = await ownerSql<{ stored: number }>(
        service.url,
        `SELECT sum(applied_seq)::int AS stored FROM sessions`,
      );
      if (row?.stored !== applied) throw new Error(`${row?.stored} of ${applied} are stored.`);
    },
    [Symbol.asyncDispose]: () => intake.close(),
  };
}

/** The same rows in a table of the same shape, one transaction after the other on one connection. */
async function openBare(service: ServiceDatabase, sessions: SessionOfHost[]) {
  const client = new pg.Client({ connectionString: service.url });
  await client.connect();
  await client.query(`CREATE TABLE bare_log (LIKE session_log INCLUDING ALL)`);
  const text = insertEntries.text.replace("session_log", "bare_log");
  let next = 0;
  return {
    async run(seconds: number): Promise<number> {
      const startedAt = performance.now();
      const before = next;
      while (performance.now() < startedAt + seconds * 1000) {
        const rows = Array.from({ length: batch }, () => {
          const { host, sessionId } = sessions[next % hostCount]!;
          return { host, sessionId, seq: Math.floor(next++ / hostCount) + 1 };
        });
        await client.query({
          name: "bare",
          text,
          values: [
            rows.map(({ sessionId }) => sessionId),
            rows.map(({ seq }) => seq),
            rows.map(({ host }) => host.organizationId),
            rows.map(() => new Date().toISOString()),
            rows.map(() => "turn_1"),
            `[${rows.map(() => JSON.stringify(update)).join(",")}]`,
          ],
        });
      }
      return ((next - before) * 1000) / (performance.now() - startedAt);
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}
