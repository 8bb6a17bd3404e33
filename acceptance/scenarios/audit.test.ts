// The audit trail: every change and every refused try is an entry, reads are not, and no entry
// holds a secret.
import assert from "node:assert/strict";
import type { AuditEntry } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

/** The entries that `work` leaves, oldest first. */
async function entriesOf(caller: Caller, work: () => Promise<unknown>): Promise<AuditEntry[]> {
  const [last] = (await caller.list_audit_entries({ limit: 1 })).entries;
  await work();
  const { entries } = await caller.list_audit_entries({ limit: 200 });
  const known = entries.findIndex(({ auditId }) => auditId === last?.auditId);
  return entries.slice(0, known < 0 ? entries.length : known).toReversed();
}

scenario(
  "A change is recorded with its author, action, time and call id",
  [],
  async ({ caller }) => {
    const me = await caller.whoami({});
    const headers = { "x-request-id": "my-call-1" };
    const entries = await entriesOf(caller, () =>
      caller.try("create_instance", { name: "audited" }, headers),
    );
    const [instance] = (await caller.search_instances({ query: "audited" })).instances;
    assert.equal(entries.length, 1);
    const [{ auditId, at, actor, ...entry }] = entries as [AuditEntry];
    assert.match(auditId, /^aud_/);
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
    assert.deepEqual([actor.type, actor.id], ["organization_key", me.apiKeyId]);
    assert.deepEqual(entry, {
      action: "create_instance",
      outcome: "done",
      apiKeyId: me.apiKeyId,
      accountOf: null,
      signInId: null,
      input: { name: "audited" },
      records: { instanceId: instance?.instanceId },
      callId: "my-call-1",
    });
  },
);

scenario("A user's change names the user", [], async ({ caller, world }) => {
  const [{ keys, userId }] = world.organizations;
  const member = world.callerFor(keys.member);
  const [entry] = await entriesOf(caller, () => member.create_instance({ name: "by ada" }));
  assert.deepEqual(entry?.actor, { type: "user", id: userId, name: "ada@acme.example" });
});

scenario("Reads leave no entry, whether answered or refused", [], async ({ caller, world }) => {
  const { instanceId } = (await caller.create_instance({ name: "read" })).instance;
  const weak = world.callerFor(await world.makeKey(world.organizations[0], []));
  const entries = await entriesOf(caller, async () => {
    await caller.list_instances({});
    await caller.get_instance({ instanceId });
    await caller.list_sessions({});
    await caller.list_api_keys({});
    await caller.get_settings({});
    await caller.try("get_instance", { instanceId: "no such id" });
    assertRefused(await weak.try("list_instances"), 403, "forbidden");
  });
  assert.deepEqual(entries, []);
});

scenario(
  "A13: An upload is recorded, and a download and an opened stream are counted as reads",
  [],
  async ({ caller, world }) => {
    const [organization] = world.organizations;
    const { instanceId } = (await caller.create_instance({ name: "watched" })).instance;
    const [sessionId] = await insertSessions(world, organization, { instanceId });
    const key = await world.makeKey(organization, ["sessions:view", "sessions:edit"]);
    const watcher = world.callerFor(key);
    const { apiKeyId } = await watcher.whoami({});
    const weak = world.callerFor(await world.makeKey(organization, ["sessions:view"]));
    const upload = { method: "POST", body: "hello", headers: { "content-type": "text/plain" } };
    let fileId = "";
    const entries = await entriesOf(caller, async () => {
      const made = await watcher.request("/api/files?filename=x.txt", upload);
      ({ fileId } = made.body as { fileId: string });
      assertRefused(await weak.request("/api/files", upload), 403, "forbidden");
      assert.equal((await watcher.request(`/api/files/${fileId}`)).text, "hello");
      for (const path of ["/api/events", `/api/sessions/${sessionId}/events`]) {
        const headers = { authorization: `Bearer ${key}` };
        const stream = await fetch(world.baseUrl + path, { headers });
        assert.equal(stream.status, 200, path);
        await stream.body!.cancel();
      }
    });
    assert.deepEqual(
      entries.map(({ action, outcome, input, records }) => [action, outcome, input, records]),
      [
        ["upload_file", "done", { mime: "text/plain", filename: "x.txt", size: 5 }, { fileId }],
        ["upload_file", "forbidden", {}, {}],
      ],
    );
    assert.equal(entries[0]?.apiKeyId, apiKeyId);
    const counted = await until(
      "the reads are counted",
      12_000,
      () =>
        ownerSql<{ action: string; calls: number }>(
          world.database.url,
          `SELECT r.action, r.calls::int FROM audit_reads r JOIN api_keys k USING (organization_id, api_key_id)
            WHERE k.secret_hash = sha256($1::text::bytea) AND r.action <> 'whoami' ORDER BY r.action`,
          [key],
        ),
      ({ length }) => length === 3,
    );
    assert.deepEqual(counted, [
      { action: "download_file", calls: 1 },
      { action: "follow_events", calls: 1 },
      { action: "follow_session", calls: 1 },
    ]);
  },
);

scenario("A refused change is recorded with the reason", [], async ({ caller, world }) => {
  const weak = world.callerFor(await world.makeKey(world.organizations[0], ["sessions:view"]));
  const { apiKeyId } = await weak.whoami({});
  const entries = await entriesOf(caller, async () => {
    await weak.try("create_instance", { name: "not allowed" });
    await weak.try("run_shell", { sessionId: "s", command: "rm -rf marked-7f3a" });
    await caller.try("update_instance", { instanceId: "no such id", name: "n" });
    await caller.try("remove_member", { userId: world.organizations[0].userId });
  });
  assert.deepEqual(
    entries.map(({ action, outcome }) => [action, outcome]),
    [
      ["create_instance", "forbidden"],
      ["run_shell", "forbidden"],
      ["update_instance", "not_found"],
      ["remove_member", "last_owner"],
    ],
  );
  assert.deepEqual([entries[0]?.apiKeyId, entries[1]?.apiKeyId], [apiKeyId, apiKeyId]);
  assert.ok(!JSON.stringify(entries).includes("marked-7f3a"));
});

scenario("A call refused for its body is not recorded", [], async ({ caller }) => {
  const entries = await entriesOf(caller, async () => {
    assertInvalid(await caller.try("create_instance", { name: "" }), "name");
    assertRefused(await caller.try("fly_to_moon"), 404, "unknown_action");
  });
  assert.deepEqual(entries, []);
});

scenario("An entry contains ids and plain words, and no secret", [], async ({ caller }) => {
  const secrets: string[] = [];
  const entries = await entriesOf(caller, async () => {
    const made = await caller.create_instance({ name: "secretive" });
    const { instanceId } = made.instance;
    const again = await caller.regenerate_pairing_token({ instanceId });
    const key = await caller.create_api_key({
      name: "secretive",
      scope: "organization",
      permissions: ["instances:view"],
    });
    const rotated = await caller.rotate_api_key({ apiKeyId: key.apiKey.apiKeyId });
    secrets.push(made.pairingToken, again.pairingToken, key.key, rotated.key);
  });
  assert.equal(entries.length, 4);
  const text = JSON.stringify(entries);
  for (const secret of secrets) {
    assert.ok(!text.includes(secret.slice(secret.lastIndexOf("_") + 1)));
  }
});

scenario("A repeated call with one idempotency key is one entry", [], async ({ caller }) => {
  const entries = await entriesOf(caller, async () => {
    const options = { idempotencyKey: "audited-once" };
    await caller.create_instance({ name: "once" }, options);
    await caller.create_instance({ name: "once" }, options);
  });
  assert.equal(entries.length, 1);
});

scenario(
  "A call id with characters other than those of a plain word is replaced",
  [],
  async ({ caller }) => {
    const [entry] = await entriesOf(caller, () =>
      caller.try("create_instance", { name: "x" }, { "x-request-id": "a b{}" }),
    );
    assert.match(entry?.callId ?? "", /^[0-9a-f-]{36}$/);
  },
);

scenario("The trail is read page by page, newest first", [], async ({ caller }) => {
  for (let i = 0; i < 8; i++) await caller.create_instance({ name: `entry ${i}` });
  const whole = await caller.list_audit_entries({ limit: 200 });
  const ids = (entries: AuditEntry[]) => entries.map(({ auditId }) => auditId);
  assert.deepEqual(ids(whole.entries), ids(whole.entries).sort().toReversed());
  const seen: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await caller.list_audit_entries({ limit: 3, ...(cursor && { cursor }) });
    seen.push(...ids(page.entries));
    cursor = page.nextCursor;
  } while (cursor);
  assert.deepEqual(seen, ids(whole.entries));
  assertInvalid(await caller.try("list_audit_entries", { cursor: "x" }), "cursor");
});

scenario("Each organization has its own audit trail", [], async ({ caller, stranger }) => {
  await stranger.create_instance({ name: "elsewhere" });
  const { entries } = await caller.list_audit_entries({ limit: 200 });
  assert.ok(!JSON.stringify(entries).includes("elsewhere"));
});
