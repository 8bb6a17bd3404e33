// Exposures of the real opencode, through two nodes: what they serve, to whom, and until when.
import assert from "node:assert/strict";
import { moveClock } from "@hawser/testkit/clock.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { assertEnded, openStream, through } from "../exposure-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { runTurn, saidIn, scripted, startSession, logOf } from "../session-steps.ts";

useWorld({ agents: true, hosts: 1, nodes: 2 });

const hour = 3_600_000;
const cutWithinMs = 1_000;

scenario(
  "An exposure of a session is served with its password only, and its record says how it is used",
  [
    "general.capabilities",
    "create_exposure.result",
    "create_exposure.login",
    "list_exposures.result",
    "record.exposure.scope",
    "record.exposure.creator",
    "record.exposure.expiresAt",
    "record.exposure.lastUsedAt",
    "record.exposure.password.once",
  ],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const exposed = await caller.create_exposure({ instanceId, sessionId, ttlMinutes: 60 });
    const { exposureId, url, username, password, attachCommand } = exposed;
    for (const text of [url, username, password, attachCommand]) assert.ok(text.length > 0);
    assert.ok(Buffer.from(password, "base64url").length >= 16);
    assert.equal(exposed.scope, "session");
    assert.equal(exposed.sessionId, sessionId);
    assert.equal(exposed.port, null);
    assert.equal(Date.parse(exposed.expiresAt) - Date.parse(exposed.createdAt), hour);
    const { apiKeyId } = await caller.whoami({});
    assert.deepEqual(exposed.createdBy, { type: "organization_key", id: apiKeyId, name: "owner" });
    assert.equal(exposed.lastUsedAt, null);

    for (const path of ["/", "/session", "/global/health", "/assets/x.js", "/nothing"]) {
      for (const authorization of ["", "Basic x", `Basic ${btoa(`${username}:wrong`)}`]) {
        const { status } = await through(exposed, path, { headers: { authorization } });
        assert.equal(status, 401, `${path} with ${authorization}`);
      }
    }
    const served = await through(exposed, "/session");
    assert.equal(served.status, 200);
    const listed = await until(
      "the use is recorded",
      30_000,
      () => caller.list_exposures({ instanceId }),
      ({ exposures }) => exposures[0]!.lastUsedAt !== null,
    );
    const whole = await caller.create_exposure({ instanceId, ttlMinutes: 480 });
    assert.equal(whole.scope, "instance");
    // Its clients begin in the newest session, because the start page lists none.
    assert.equal(new URL(whole.url).pathname, new URL(exposed.url).pathname);
    assert.equal(whole.sessionId, null);
    assert.deepEqual(Object.keys(listed.exposures[0]!).sort(), [
      "createdAt",
      "createdBy",
      "expiresAt",
      "exposureId",
      "instanceId",
      "lastUsedAt",
      "port",
      "scope",
      "sessionId",
    ]);
    const shown = JSON.stringify([listed, await caller.get_instance({ instanceId })]);
    assert.ok(!shown.includes(password));
    assert.ok(!(await dumpDatabase(world.database.url)).includes(password));
    await caller.revoke_exposure({ exposureId });
    await caller.revoke_exposure({ exposureId: whole.exposureId });
  },
);

scenario(
  "A prompt through the exposure is a turn of the session, and nothing of another session is shown",
  ["create_exposure.session_scope"],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const own = await startSession(caller, world.hosts[0]!);
    const other = await startSession(caller, world.hosts[0]!);
    await runTurn(caller, other.sessionId, scripted("other", { text: "secret of the other" }));
    const { sessionId } = own;
    const exposed = await caller.create_exposure({ instanceId, sessionId, ttlMinutes: 60 });
    const sessions = (await (await through(exposed, "/session")).json()) as { id: string }[];
    assert.equal(sessions.length, 1);
    const [{ id }] = sessions as [{ id: string }];
    const stream = await openStream(exposed);
    const sent = await through(exposed, `/session/${id}/message`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        parts: [{ type: "text", text: scripted("hello", { text: "Seen through the door." }) }],
      }),
    });
    assert.equal(sent.status, 200);
    await until(
      "the turn is in the log",
      30_000,
      () => logOf(caller, sessionId),
      (events) => saidIn(events).includes("Seen through the door."),
    );
    await runTurn(caller, other.sessionId, scripted("again", { text: "more of the other" }));
    assert.match(stream.text(), /Seen through the door/);
    assert.doesNotMatch(stream.text(), /of the other/);

    const whole = await caller.create_exposure({ instanceId, ttlMinutes: 60 });
    const all = (await (await through(whole, "/session")).json()) as { id: string }[];
    const foreign = all.map((session) => session.id).find((each) => each !== id)!;
    for (const path of [
      `/session/${foreign}`,
      `/session/${foreign}/message`,
      `/session/${id}/message?sessionID=${foreign}`,
      `/file?path=/etc/passwd&directory=/`,
      `/file/content?path=../../../../etc/passwd`,
      `/session/${id}%2f..%2f${foreign}/message`,
      `/pty`,
      `/config`,
      `/permission`,
      `/experimental/session`,
    ]) {
      const answer = await through(exposed, path);
      const text = await answer.text();
      assert.doesNotMatch(text, /root:|of the other/, path);
      assert.ok(!text.includes(foreign), path);
    }
    for (const { exposureId } of [exposed, whole]) await caller.revoke_exposure({ exposureId });
  },
);

scenario(
  "An exposure is dead and not listed once it is revoked, has expired or its session has ended; open streams are cut",
  [
    "create_exposure.revocable",
    "create_exposure.expiry",
    "list_exposures.active_only",
    "record.exposure.active",
  ],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const create = () => caller.create_exposure({ instanceId, sessionId, ttlMinutes: 60 });
    const [revoked, living] = [await create(), await create()];
    const listed = async () =>
      (await caller.list_exposures({ instanceId })).exposures.map(({ exposureId }) => exposureId);
    assert.deepEqual(await listed(), [living.exposureId, revoked.exposureId]);

    const stream = await openStream(revoked);
    const began = performance.now();
    const { exposureId } = revoked;
    await caller.revoke_exposure({ exposureId });
    assert.ok((await stream.ended) - began < cutWithinMs);
    await assertEnded(revoked);
    assertRefused(await caller.try("revoke_exposure", { exposureId }), 404, "not_found");
    assert.deepEqual(await listed(), [living.exposureId]);

    const other = await startSession(caller, world.hosts[0]!);
    const ended = await caller.create_exposure({
      instanceId,
      sessionId: other.sessionId,
      ttlMinutes: 60,
    });
    const last = await openStream(ended);
    await caller.end_session({ sessionId: other.sessionId });
    await last.ended;
    await assertEnded(ended);
    assert.deepEqual(await listed(), [living.exposureId]);

    const late = await openStream(living);
    await moveClock(world.database.url, hour / 1000 - 60);
    assert.equal((await through(living, "/session")).status, 200);
    await moveClock(world.database.url, hour / 1000 + 1);
    await late.ended;
    await assertEnded(living);
    assert.deepEqual(await listed(), []);
  },
);
