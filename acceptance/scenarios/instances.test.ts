// Instances from their making to their deletion, as far as no host is needed.
import assert from "node:assert/strict";
import type { InstanceRecord } from "@hawser/contract";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

const names = (page: { instances: InstanceRecord[] }) => page.instances.map(({ name }) => name);

scenario(
  "A new instance waits for pairing, and has a token and a command that are valid for 15 minutes",
  ["create_instance.result", "instance.status.pairing", "record.instance.instanceId"],
  async ({ caller, world }) => {
    const made = await caller.create_instance({ name: "a" });
    const { instance, pairingToken, installCommand, pairingTokenExpiresAt } = made;
    assert.deepEqual([instance.status, instance.statusReason], ["pairing", "never_paired"]);
    assert.equal(instance.host, null);
    assert.equal(instance.daemonVersion, null);
    assert.equal(instance.lastSeenAt, null);
    assert.deepEqual([instance.agents, instance.activeSessionCount], [[], 0]);
    assert.match(pairingToken, /^hwp_\w{50,}$/);
    assert.ok(installCommand.includes(pairingToken));
    assert.ok(installCommand.includes(world.baseUrl));
    assert.doesNotMatch(installCommand, /[\r\n]/);
    const minutes = (Date.parse(pairingTokenExpiresAt) - Date.parse(instance.createdAt)) / 60_000;
    assert.ok(Math.abs(minutes - 15) < 0.1, `${minutes} minutes`);
    const listed = (await caller.list_instances({})).instances;
    const found = listed.filter(({ instanceId }) => instanceId === instance.instanceId);
    assert.deepEqual(found, [instance]);
    const detail = await caller.get_instance({ instanceId: instance.instanceId });
    assert.equal(detail.instanceId, instance.instanceId);
    assert.equal(detail.pairedAt, null);
  },
);

scenario("A name is kept exactly as given", ["record.instance.name"], async ({ caller }) => {
  const given = ["n".repeat(80), "  spaces  ", "Zoë 🙂", "é", "<b>&amp;\"'", "\t\r\n"];
  for (const name of given) {
    const { instance } = await caller.create_instance({ name });
    assert.equal(instance.name, name);
    assert.equal((await caller.get_instance({ instanceId: instance.instanceId })).name, name);
  }
});

scenario(
  "Each listed instance has exactly the fields of a list",
  ["list_instances.result"],
  async ({ caller }) => {
    await caller.create_instance({ name: "listed" });
    const { instances, total, truncated } = await caller.list_instances({});
    assert.deepEqual([total, truncated], [instances.length, false]);
    const promised = ["instanceId", "name", "status", "host", "daemonVersion", "agents"];
    for (const instance of instances) {
      for (const key of [...promised, "activeSessionCount", "lastSeenAt"]) {
        assert.ok(Object.hasOwn(instance, key), key);
      }
    }
  },
);

scenario(
  "Reading an instance never returns its token, and the database contains only a hash of it",
  ["record.instance.no_tokens", "create_instance.token.once"],
  async ({ caller, world }) => {
    const made = await caller.create_instance({ name: "tight-lipped" });
    const { instanceId } = made.instance;
    const looks = [
      await caller.try("list_instances"),
      await caller.try("get_instance", { instanceId }),
      await caller.try("search_instances", { query: "tight" }),
      await caller.try("update_instance", { instanceId, name: "tight-lipped still" }),
      await caller.try("list_sessions", { instanceId }),
      await caller.try("list_audit_entries", { limit: 200 }),
      await caller.try("whoami"),
      await caller.try("regenerate_pairing_token", { instanceId }),
      await caller.try("delete_instance", { instanceId }),
      await caller.try("list_audit_entries", { limit: 200 }),
    ];
    const token = made.pairingToken;
    const secretPart = token.slice(token.indexOf("_") + 1);
    for (const { status, text } of looks) {
      assert.equal(status, 200);
      assert.ok(!text.includes(secretPart), text);
    }
    const dump = await dumpDatabase(world.database.url);
    assert.ok(dump.includes("INSERT INTO public.pairing_tokens"), "the dump has the tokens' rows");
    assert.ok(!dump.includes(secretPart));
    assert.ok(!dump.includes(Buffer.from(token).toString("hex")));
  },
);

scenario(
  "A new pairing token replaces the old one and again lasts 15 minutes",
  [],
  async ({ caller }) => {
    const made = await caller.create_instance({ name: "paired anew" });
    const { instanceId } = made.instance;
    const before = Date.now();
    const fresh = await caller.regenerate_pairing_token({ instanceId });
    assert.equal(fresh.instanceId, instanceId);
    assert.notEqual(fresh.pairingToken, made.pairingToken);
    assert.ok(fresh.installCommand.includes(fresh.pairingToken));
    const minutes = (Date.parse(fresh.pairingTokenExpiresAt) - before) / 60_000;
    assert.ok(Math.abs(minutes - 15) < 0.2, `${minutes} minutes`);
    assert.equal((await caller.get_instance({ instanceId })).status, "pairing");
  },
);

scenario(
  "A renamed instance is shown with its new name",
  ["update_instance.renames"],
  async ({ caller }) => {
    const { instanceId } = (await caller.create_instance({ name: "before" })).instance;
    const renamed = await caller.update_instance({ instanceId, name: "after" });
    assert.deepEqual([renamed.instanceId, renamed.name], [instanceId, "after"]);
    assert.equal((await caller.get_instance({ instanceId })).name, "after");
    assert.deepEqual(names(await caller.search_instances({ query: "after" })), ["after"]);
    assert.deepEqual(names(await caller.search_instances({ query: "before" })), []);
  },
);

scenario("Two instances may share a name", [], async ({ caller }) => {
  const ids = [];
  for (let i = 0; i < 2; i++) {
    ids.push((await caller.create_instance({ name: "twin" })).instance.instanceId);
  }
  const found = (await caller.search_instances({ query: "twin" })).instances;
  assert.deepEqual(found.map(({ instanceId }) => instanceId).sort(), ids.sort());
});

scenario("A deleted instance is gone, with its sessions' records", [], async (context) => {
  const { caller, world } = context;
  const { instanceId } = (await caller.create_instance({ name: "doomed" })).instance;
  const kept = (await caller.create_instance({ name: "kept" })).instance;
  const [organization] = world.organizations;
  const doomed = await insertSessions(world, organization, { instanceId, count: 3 });
  await insertSessions(world, organization, { instanceId: kept.instanceId, count: 2 });
  assert.equal((await caller.get_instance({ instanceId })).activeSessionCount, 3);
  const { total } = await caller.list_instances({});

  assert.deepEqual(await caller.delete_instance({ instanceId }), { instanceId, deleted: true });

  const calls = ["get_instance", "regenerate_pairing_token", "delete_instance", "list_sessions"];
  for (const action of calls) {
    assertRefused(await caller.try(action, { instanceId }), 404, "not_found", action);
  }
  assertRefused(await caller.try("update_instance", { instanceId, name: "x" }), 404, "not_found");
  for (const sessionId of doomed) {
    assertRefused(await caller.try("get_session_summary", { sessionId }), 404, "not_found");
  }
  const after = await caller.list_instances({});
  assert.equal(after.total, total - 1);
  assert.ok(!names(after).includes("doomed"));
  const { sessions } = await caller.list_sessions({ limit: 200 });
  assert.ok(sessions.every((session) => session.instanceId !== instanceId));
  const others = await caller.list_sessions({ instanceId: kept.instanceId });
  assert.equal(others.sessions.length, 2);
});

scenario("Of parallel deletions one wins and the rest find nothing", [], async ({ caller }) => {
  const { instanceId } = (await caller.create_instance({ name: "fought over" })).instance;
  const { total } = await caller.list_instances({});
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => caller.try("delete_instance", { instanceId })),
  );
  const statuses = replies.map(({ status }) => status).sort((a, b) => a - b);
  assert.deepEqual(statuses, [200, 404, 404, 404, 404, 404, 404, 404, 404, 404]);
  assert.equal((await caller.list_instances({})).total, total - 1);
});

scenario("Instances are listed by name, whatever its case", [], async ({ stranger }) => {
  for (const name of ["beta", "Alpha", "GAMMA", "alphabet", "Beta 2", "10", "9"]) {
    await stranger.create_instance({ name });
  }
  const sorted = ["10", "9", "Alpha", "alphabet", "beta", "Beta 2", "GAMMA"];
  assert.deepEqual(names(await stranger.list_instances({})), sorted);
  assert.deepEqual(names(await stranger.search_instances({})), sorted);
});

scenario(
  "Searching keeps the names that begin with the text, in any case",
  [],
  async ({ caller }) => {
    for (const name of ["Web-1", "web-2", "WEBSITE", "cobweb", "we", "web_%"]) {
      await caller.create_instance({ name });
    }
    const search = async (query: string) => names(await caller.search_instances({ query }));
    assert.deepEqual(await search("web"), ["Web-1", "web-2", "WEBSITE", "web_%"].sort(byLowerCase));
    assert.deepEqual(await search("WEB-"), ["Web-1", "web-2"]);
    assert.deepEqual(await search("web_%"), ["web_%"]);
    assert.deepEqual(await search("%"), []);
    assert.deepEqual(await search("' OR 1=1 --"), []);
  },
);

const byLowerCase = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1);

scenario("Pages join up to the whole list, each instance once", [], async ({ caller }) => {
  const made = Array.from({ length: 25 }, (_, i) => `Page ${String(i).padStart(2, "0")}`);
  await Promise.all(made.map((name) => caller.create_instance({ name })));
  // Equal names are distinguished by their ids.
  await Promise.all([1, 2, 3].map(() => caller.create_instance({ name: "page same" })));
  const seen: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await caller.search_instances({
      query: "PAGE",
      limit: 7,
      ...(cursor && { cursor }),
    });
    seen.push(...page.instances.map(({ instanceId }) => instanceId));
    sizes.push(page.instances.length);
    cursor = page.nextCursor;
  } while (cursor);
  assert.deepEqual(sizes, [7, 7, 7, 7]);
  const whole = await caller.search_instances({ query: "page", limit: 200 });
  assert.deepEqual(
    seen,
    whole.instances.map(({ instanceId }) => instanceId),
  );
  assert.equal(new Set(seen).size, 28);
  assert.equal(whole.nextCursor, null);
});

scenario("An instance that is added while paging is not shown twice", [], async ({ caller }) => {
  for (const name of ["m b", "m d", "m f"]) await caller.create_instance({ name });
  const first = await caller.search_instances({ query: "m ", limit: 2 });
  for (const name of ["m a", "m e"]) await caller.create_instance({ name });
  const rest = await caller.search_instances({ query: "m ", cursor: first.nextCursor! });
  assert.deepEqual([...names(first), ...names(rest)], ["m b", "m d", "m e", "m f"]);
});

scenario("A cursor that no page gave is refused", [], async ({ caller }) => {
  const foreign = (await caller.list_audit_entries({ limit: 1 })).nextCursor!;
  const made = Buffer.from('["a","not an id"]').toString("base64url");
  for (const cursor of ["", "nonsense", foreign, made, "🙂"]) {
    assertInvalid(await caller.try("search_instances", { cursor }), "cursor", cursor);
  }
});

scenario("Searching filters by status and keeps to its limits", [], async ({ caller }) => {
  const { instances } = await caller.search_instances({ status: "pairing", limit: 200 });
  assert.ok(instances.length > 0 && instances.every(({ status }) => status === "pairing"));
  for (const status of ["online", "offline"] as const) {
    assert.deepEqual((await caller.search_instances({ status })).instances, []);
  }
  assert.equal((await caller.search_instances({})).instances.length, 50);
  for (const limit of [0, 201, -1, 1.5, "1"]) {
    assertInvalid(await caller.try("search_instances", { limit }), "limit", String(limit));
  }
  assertInvalid(await caller.try("search_instances", { status: "other" }), "status");
});
