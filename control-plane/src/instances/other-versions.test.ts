// Hosts with daemons of other versions than this node: older ones as they were released, and newer ones that
// send more than this node knows. Their messages take the real path into a real database.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import {
  HelloReply,
  HeartbeatReply,
  ReportReply,
  makeSigningKey,
  type CommandReply,
  type Heartbeat,
  type Hello,
  type Report,
  type SignedCommand,
  type UpCall,
} from "@hawser/host-protocol";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { asNewer, laterField, olderMessage } from "@hawser/testkit/other-versions.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createHostAsker } from "../fabric/host-asker.ts";
import type { Keyring } from "../fabric/keyring.ts";
import { createLog } from "../log.ts";
import { createIntake, type Intake } from "../session-log/intake.ts";
import { createUpCalls, type UpCalls } from "./up-calls.ts";

let service: ServiceDatabase;
let organizationId: string;
let intake: Intake;
let upCalls: UpCalls;

before(async () => {
  service = await openServiceDatabase();
  const { database } = service;
  const acme = await createTestOrganization(database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", acme.organizationId)!;
  intake = createIntake({ database, log: createLog("silent"), onApplied: () => {} });
  const unused = () => Promise.reject(new Error("This test has no such call."));
  upCalls = createUpCalls({
    database,
    intake,
    logQuota: { refusal: () => undefined },
    sightings: { note: () => {} },
    viewers: { notify: () => {} },
    presence: { recorded: unused },
    isBack: () => {},
    reconnectSeconds: () => 3,
    renewToken: unused,
    removed: { answerInstance: unused },
  });
});
after(async () => {
  await intake.close();
  await service[Symbol.asyncDispose]();
});

/** A paired host with one session, both by the ids that hosts use. */
async function addHost() {
  const [row] = await ownerSql<{ instance_id: string; session_id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name, host_key)
                VALUES ($1, 'box', gen_random_uuid()::text) RETURNING *),
          k AS (INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
                SELECT organization_id, instance_id, host_key, 'a1b2', hawser_now() + interval '1 day' FROM i)
     INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by, directory)
     SELECT organization_id, instance_id, 'opencode', '{"type": "user", "id": "usr_x", "name": "Ada"}', '/srv'
       FROM i RETURNING instance_id, session_id`,
    [organizationId],
  );
  const instanceId = formatId("instance", row!.instance_id);
  return {
    instanceId,
    sessionId: formatId("session", row!.session_id),
    send: (call: UpCall, message: object) =>
      upCalls.answer(instanceId, call, Buffer.from(JSON.stringify(message))),
    shown: (columns: string) =>
      ownerSql(service.url, `SELECT ${columns} FROM instances WHERE instance_id = $1`, [
        row!.instance_id,
      ]),
    session: (columns: string) =>
      ownerSql(service.url, `SELECT ${columns} FROM sessions WHERE session_id = $1`, [
        row!.session_id,
      ]),
    log: () =>
      ownerSql<{ update: object }>(
        service.url,
        `SELECT update FROM session_log WHERE session_id = $1 ORDER BY seq`,
        [row!.session_id],
      ),
  };
}

const names = (value: object) => Object.keys(value).sort();

test("a daemon of 0.1.0 is served, and is sent no field that it does not know", async () => {
  const host = await addHost();
  const { sessionId } = host;
  const hello = {
    ...(olderMessage("hello") as Hello),
    sessions: [{ sessionId, lastSeq: 2 }],
  };
  const welcome = HelloReply.parse(await host.send("hello", hello));
  assert.deepEqual(names(welcome), names(olderMessage("hello-reply.welcome")));
  const beat = HeartbeatReply.parse(await host.send("heartbeat", olderMessage("heartbeat")));
  assert.deepEqual(names(beat), names(olderMessage("heartbeat-reply")));
  const older = olderMessage("report") as Report;
  const entries = older.sessions[0]!.entries.map((entry, place) => ({ ...entry, seq: place + 1 }));
  const report = { ...older, sessions: [{ sessionId, entries }] };
  assert.deepEqual(ReportReply.parse(await host.send("report", report)), {
    applied: [{ sessionId, appliedSeq: 2 }],
  });
  assert.deepEqual(await host.send("bye", olderMessage("bye")), {});
  assert.deepEqual(await host.shown("daemon_version, warnings, operations"), [
    { daemon_version: "0.1.0", warnings: [], operations: [] },
  ]);
});

/** Facts of a newer daemon, with kinds that this node does not know. */
function newerFacts(): Hello["facts"] {
  const { facts } = olderMessage("hello") as Hello;
  const [agent] = facts.agents;
  const [root] = facts.roots;
  const newer = {
    ...facts,
    agents: [{ ...agent, kind: "later_agent", ready: "in a moment" }, agent],
    roots: [root, { type: "bucket", address: "s3://code" }],
    warnings: [{ code: "later_warning", message: "Look at it." }],
    operations: [{ operationId: "o1", type: "later_operation", state: "running" }],
  };
  return asNewer(newer) as unknown as Hello["facts"];
}

test("a newer daemon's hello, facts and good-bye are accepted, without what this node does not know", async () => {
  const host = await addHost();
  const hello = {
    ...(olderMessage("hello") as Hello),
    protocol: 2,
    facts: newerFacts(),
    sessions: [],
  };
  HelloReply.parse(await host.send("hello", asNewer(hello)));
  const facts = async () => {
    const [row] = await host.shown("agents, roots, warnings, operations, host, code_hosting_cli");
    return row!;
  };
  const stored = await facts();
  assert.ok(!JSON.stringify(stored).includes(laterField + '"'), JSON.stringify(stored));
  assert.deepEqual(
    [stored["agents"], stored["roots"], stored["operations"]].map((list) => (list as []).length),
    [1, 1, 0],
  );
  assert.deepEqual(stored["warnings"], [{ code: "later_warning", message: "Look at it." }]);
  await ownerSql(service.url, "UPDATE instances SET agents = '[]'");
  const heartbeat: Heartbeat = { bootId: hello.bootId, facts: newerFacts() };
  HeartbeatReply.parse(await host.send("heartbeat", asNewer(heartbeat)));
  assert.deepEqual(await facts(), stored);
  assert.deepEqual(await host.send("bye", asNewer({ bootId: hello.bootId })), {});
});

test("a newer daemon's entries are stored as they are, and those of known kinds have their effect", async () => {
  const host = await addHost();
  const { sessionId } = host;
  const updates = [
    { sessionUpdate: "session_status", status: "active", reason: null },
    { sessionUpdate: "later_kind", text: "Something new." },
    { sessionUpdate: "turn_started", messageId: "m1", model: null, agent: null },
    {
      sessionUpdate: "session_placed",
      directory: "/elsewhere",
      worktreeBranch: null,
      model: null,
      capabilities: ["diff", "later_capability"],
    },
  ].map(asNewer);
  const entries = updates.map((update, place) => ({
    seq: place + 1,
    at: "2026-11-15T10:00:00.000Z",
    turnId: "t1",
    update,
  }));
  const report = { journalId: "j1", sessions: [{ sessionId, entries }] };
  assert.deepEqual(ReportReply.parse(await host.send("report", asNewer(report))), {
    applied: [{ sessionId, appliedSeq: 4 }],
  });
  const log = await host.log();
  assert.deepEqual(
    log.map(({ update }) => update),
    updates,
  );
  assert.deepEqual(await host.session("activity, directory, capabilities"), [
    { activity: "running", directory: "/elsewhere", capabilities: ["diff"] },
  ]);
});

test("messages that are wrong are refused as before", async () => {
  const host = await addHost();
  const hello = olderMessage("hello") as Hello;
  const [agent] = hello.facts.agents;
  const wrong: [UpCall, object][] = [
    ["hello", { ...hello, machineId: 7 }],
    ["hello", { ...hello, facts: { ...hello.facts, agents: [{ ...agent, installed: "yes" }] } }],
    ["heartbeat", { bootId: null }],
    ["report", { journalId: "j1", sessions: [{ sessionId: host.sessionId, entries: [] }] }],
  ];
  for (const [call, message] of wrong) {
    await assert.rejects(host.send(call, message), { name: "ZodError" });
  }
});

test("a newer daemon's result is read without what this node does not know", async () => {
  const answers: ((commandId: string) => CommandReply)[] = [
    (commandId) => ({ commandId, outcome: { result: { facts: newerFacts(), runs: 1 } } }),
    (commandId) => ({ commandId, outcome: { refusal: { code: "later_code", message: "No." } } }),
    () => olderMessage("command-reply.refusal") as CommandReply,
  ];
  const keys = { commandKey: makeSigningKey() };
  const asker = createHostAsker(
    {
      request(_subject, data) {
        const { commandId } = JSON.parse(data as string) as SignedCommand;
        const reply = { ...asNewer(answers.shift()!(commandId)), commandId };
        return Promise.resolve(Buffer.from(JSON.stringify(reply)));
      },
    },
    { keys, refresh: () => Promise.resolve() } as unknown as Keyring,
  );
  const ask = () =>
    asker.read(
      "ins_a",
      "refresh_host_facts",
      {},
      {
        actor: { type: "user", id: "usr_ada" },
        isOnline: true,
      },
    );
  const { facts, runs } = await ask();
  assert.deepEqual(
    facts.agents.map(({ kind }) => kind),
    ["opencode"],
  );
  assert.equal(runs, 1);
  assert.ok(!JSON.stringify(facts).includes(laterField + '"'));
  await assert.rejects(ask(), { code: "host_refused" });
  await assert.rejects(ask(), { code: "daemon_outdated" });
});
