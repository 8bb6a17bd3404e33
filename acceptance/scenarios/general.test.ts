// What holds for every action alike: the path, bodies, answers, refusals, and what is published.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { actionNames, registry, type Action } from "@hawser/contract";
import { request, type Caller, type RawCall } from "@hawser/testkit/caller.ts";
import { fingerprint } from "@hawser/testkit/fingerprint.ts";
import type { World } from "@hawser/testkit/world.ts";
import { pin } from "../pin.ts";
import { assertInvalid, assertRefused, refusalOf } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ environment: { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" } });

const path = (action: string) => `/api/rest/actions/${action}`;
const json = { "content-type": "application/json" };

/** A body as bytes, not as the caller would write it. */
const post = (caller: Caller, action: string, call: Omit<RawCall, "method">) =>
  caller.request(path(action), { method: "POST", ...call });

scenario(
  "An action runs by POST, and by no other method",
  ["general.endpoint"],
  async ({ caller }) => {
    assert.equal((await caller.try("list_instances")).status, 200);
    const before = await caller.list_instances({});
    for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      for (const action of ["list_instances", "create_instance"]) {
        const body = method === "GET" ? {} : { body: '{"name":"by another method"}' };
        const reply = await caller.request(path(action), { method, headers: json, ...body });
        assertRefused(reply, 405, "method_not_allowed", `${method} ${action}`);
        assert.equal(reply.headers.get("allow"), "POST");
      }
    }
    assert.deepEqual(await caller.list_instances({}), before);
  },
);

scenario(
  "The listing of actions is served by GET, and by no other method",
  [],
  async ({ caller }) => {
    for (const method of ["PUT", "DELETE", "POST"]) {
      const reply = await caller.request("/api/rest/actions", {
        method,
        headers: json,
        body: "{}",
      });
      assertRefused(reply, 405, "method_not_allowed", method);
      assert.equal(reply.headers.get("allow"), "GET", method);
    }
  },
);

scenario(
  "Every name of the interface is a known action",
  ["general.actions.all"],
  async ({ caller }) => {
    assert.equal(pin.actions.length, 49);
    for (const { name } of pin.actions) {
      const reply = await caller.try(name, {});
      assert.ok([200, 400].includes(reply.status), `${name}: ${reply.text}`);
    }
  },
);

scenario(
  "A request without a body is refused, even for an action without parameters",
  ["general.body.required"],
  async ({ caller }) => {
    for (const headers of [{}, json]) {
      assertRefused(await post(caller, "list_instances", { headers }), 400, "invalid_input");
    }
  },
);

scenario(
  "Actions without parameters take the empty object and nothing else",
  ["general.body.empty_object"],
  async ({ caller }) => {
    for (const action of ["list_instances", "list_scheduled_prompts"] as const) {
      assert.equal((await caller.try(action, {})).status, 200);
      assertInvalid(await caller.try(action, { x: 1 }), "x");
    }
  },
);

scenario("A body that is not JSON is refused", ["general.body.json"], async ({ caller }) => {
  for (const body of ['{"instanceId":', "{", "{} {}", "{'a':1}", "", "NaN", '{"a":\u0001}']) {
    const reply = await post(caller, "get_instance", { headers: json, body });
    assertRefused(reply, 400, "invalid_input", body);
  }
  const notUtf8 = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
  const reply = await post(caller, "list_instances", { headers: json, body: notUtf8 });
  assertRefused(reply, 400, "invalid_input");
});

scenario("A body that is not an object is refused", ["general.body.object"], async ({ caller }) => {
  for (const action of ["list_instances", "get_instance", "create_instance"]) {
    for (const body of [[], null, "x", 5, true, [{}]]) {
      assertRefused(await caller.try(action, body), 400, "invalid_input", JSON.stringify(body));
    }
  }
});

scenario(
  "The body travels as application/json, plain and uncompressed",
  ["general.body.content_type"],
  async ({ caller }) => {
    const send = (headers: Record<string, string>, body: RawCall["body"] = "{}") =>
      post(caller, "list_instances", { headers, body });
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "APPLICATION/JSON",
    ]) {
      assert.equal((await send({ "content-type": type })).status, 200, type);
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonl"]) {
      assertRefused(await send({ "content-type": type }), 400, "invalid_input", type);
    }
    const zipped = new Uint8Array(gzipSync("{}"));
    const gzip = await send({ ...json, "content-encoding": "gzip" }, zipped);
    assertRefused(gzip, 400, "invalid_input");
  },
);

scenario("A body over 8 MiB is refused as too large", [], async ({ caller }) => {
  const name = "x".repeat(8 * 1024 * 1024);
  assertRefused(await caller.try("create_instance", { name }), 413, "payload_too_large");
  const fits = await caller.try("create_instance", { name: name.slice(0, -100) });
  assertInvalid(fits, "name");
});

scenario(
  "A body with NUL, a lone surrogate, __proto__ or deep nesting is refused",
  [],
  async ({ caller }) => {
    const bodies = [
      '{"name":"a\\u0000b"}',
      '{"name":"\\ud800"}',
      '{"__proto__":{"name":"x"},"name":"x"}',
      '{"name":"x","constructor":1}',
      `{"name":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
    ];
    for (const body of bodies) {
      const reply = await post(caller, "create_instance", { headers: json, body });
      assertRefused(reply, 400, "invalid_input", body.slice(0, 80));
    }
    const rightToLeft = "\u202eabc\u05d0";
    const made = await caller.create_instance({ name: rightToLeft });
    assert.equal(made.instance.name, rightToLeft);
  },
);

scenario(
  "A call refused as invalid input has changed nothing",
  ["general.body.atomic"],
  async ({ caller, world }) => {
    await caller.create_instance({ name: "stays as it is" });
    const before = [await tables(world), await caller.list_instances({})];
    for (const name of actionNames) {
      const { effect }: Action = registry[name];
      if (effect === "reads") continue;
      assertRefused(await caller.try(name, { zz: 1 }), 400, "invalid_input", name);
    }
    // Some bodies are found wrong only after work has begun.
    const late = { name: "k", scope: "organization", permissions: ["sessions:view"] };
    const expired = { ...late, expiresAt: "2001-01-01T00:00:00Z" };
    assertInvalid(await caller.try("create_api_key", expired), "expiresAt");
    assert.deepEqual([await tables(world), await caller.list_instances({})], before);
  },
);

/** The digest of every table but the trail, which also records attempts. */
async function tables(world: World): Promise<Map<string, string>> {
  const digests = new Map(await fingerprint(world.database.url));
  assert.ok(digests.delete("audit_entries"));
  return digests;
}

scenario(
  "Success is 200 with the single member result, even if something was created",
  ["general.success.status", "general.success.envelope"],
  async ({ caller }) => {
    const { instance } = await caller.create_instance({ name: "enveloped" });
    const { instanceId } = instance;
    const bodies: [string, object][] = [
      ["create_instance", { name: "created" }],
      ["list_instances", {}],
      ["search_instances", {}],
      ["get_instance", { instanceId }],
      ["update_instance", { instanceId, name: "renamed" }],
      ["regenerate_pairing_token", { instanceId }],
      ["delete_instance", { instanceId }],
      ["list_sessions", {}],
      ["search_sessions", {}],
      ["list_pending_requests", {}],
      ["search_requests", {}],
      ["whoami", {}],
      ["list_api_keys", {}],
      ["list_members", {}],
      ["get_settings", {}],
      ["update_settings", {}],
      ["list_audit_entries", {}],
    ];
    for (const [action, body] of bodies) {
      const reply = await caller.try(action, body);
      assert.equal(reply.status, 200, `${action}: ${reply.text}`);
      assert.deepEqual(Object.keys(reply.body as object), ["result"], action);
      assert.match(reply.headers.get("content-type") ?? "", /^application\/json\b/);
    }
  },
);

scenario(
  "An id is never refused for its form: an id that names nothing is not found",
  ["general.ids.opaque"],
  async ({ caller }) => {
    const unknown = ["no such id", "", "ins_", "x".repeat(10_000), "🙂", "../../x", "' OR 1=1 --"];
    for (const instanceId of unknown) {
      assertRefused(await caller.try("get_instance", { instanceId }), 404, "not_found", instanceId);
    }
  },
);

scenario(
  "Every refusal has the same form, and no result",
  ["general.error.envelope"],
  async ({ caller, world }) => {
    const viewer = world.callerFor(world.organizations[0].keys.viewer);
    const once = { "idempotency-key": "one key for two bodies" };
    await caller.try("create_instance", { name: "first" }, once);
    const refused = [
      [400, await caller.try("create_instance", {})],
      [401, await request(world.baseUrl, path("list_instances"), { method: "POST", body: "{}" })],
      [403, await viewer.try("create_instance", { name: "x" })],
      [404, await caller.try("get_instance", { instanceId: "x" })],
      [404, await caller.try("fly_to_moon")],
      [404, await caller.request("/api/nothing/here")],
      [405, await caller.request(path("list_instances"))],
      [409, await caller.try("remove_member", { userId: world.organizations[0].userId })],
    ] as const;
    for (const [status, reply] of refused) {
      assert.equal(reply.status, status, reply.text);
      assert.deepEqual(Object.keys(reply.body as object), ["error"]);
      const { code, message } = refusalOf(reply);
      assert.match(code, /^[a-z_]+$/);
      assert.match(message, /^[A-Z].*\.$/s, "a message is a sentence");
      assert.match(reply.headers.get("content-type") ?? "", /^application\/json\b/);
    }
  },
);

scenario(
  "A refusal of a body names each offending field",
  ["general.error.fields"],
  async ({ caller }) => {
    const { fields = [] } = refusalOf(await caller.try("create_instance", { name: "", zz: 1 }));
    assert.deepEqual(fields.map(({ field }) => field).sort(), ["name", "zz"]);
    for (const { message } of fields) assert.ok(message.length > 0);
  },
);

scenario(
  "A missing, undeclared, oversized or mistyped field is invalid input",
  ["general.error.invalid_input"],
  async ({ caller }) => {
    const bodies: [object, string][] = [
      [{}, "instanceId"],
      [{}, "name"],
      [{ instanceId: "x", name: "n", zz: 1 }, "zz"],
      [{ instanceId: "x", name: "n".repeat(81) }, "name"],
      [{ instanceId: 5, name: "n" }, "instanceId"],
    ];
    for (const [body, field] of bodies) {
      assertInvalid(await caller.try("update_instance", body), field, JSON.stringify(body));
    }
  },
);

scenario(
  "A valid key without the action's permission is refused with 403",
  ["general.error.forbidden"],
  async ({ world }) => {
    const key = await world.makeKey(world.organizations[0], ["sessions:view"]);
    const reply = await world.callerFor(key).try("list_instances");
    const { message } = assertRefused(reply, 403, "forbidden");
    assert.ok(message.includes("instances:view"), "it says what is missing");
  },
);

scenario(
  "A name that no action has is unknown, even if JavaScript objects have it",
  ["general.error.unknown_action", "general.error.unknown_action.inherited"],
  async ({ caller }) => {
    const names = ["fly_to_moon", "__proto__", "constructor", "toString", "hasOwnProperty"];
    const odd = [
      "valueOf",
      "",
      "LIST_INSTANCES",
      "list_instances/",
      "list_instances%00",
      "%zz",
      "%F0",
    ];
    const encoded = ["list%5finstances%2f", "a/b/c", "list_instances%20"];
    for (const name of [...names, ...odd, ...encoded]) {
      assertRefused(await caller.try(name), 404, "unknown_action", name);
    }
    // The parser may refuse the line before the service sees it.
    const huge = await caller.try("x".repeat(1024 * 1024));
    assert.ok([404, 431].includes(huge.status), String(huge.status));
    assert.equal((await caller.try("list_instances")).status, 200, "the node is alive");
  },
);

scenario(
  "Key, action name, permission, body and record are checked in this order",
  ["general.error.order"],
  async ({ caller, world }) => {
    const call = { method: "POST", headers: json, body: "{}" };
    const anonymous = await request(world.baseUrl, path("fly_to_moon"), call);
    assertRefused(anonymous, 401, "unauthenticated");
    const weak = world.callerFor(await world.makeKey(world.organizations[0], ["sessions:view"]));
    assertRefused(await weak.try("fly_to_moon", []), 404, "unknown_action");
    assertRefused(await weak.try("update_instance", { zz: 1 }), 403, "forbidden");
    const notJson = await post(weak, "update_instance", { headers: json, body: "{" });
    assertRefused(notJson, 403, "forbidden");
    const bad = { instanceId: "no such id", name: "" };
    assertRefused(await caller.try("update_instance", bad), 400, "invalid_input");
    const unknown = { instanceId: "no such id", name: "n" };
    assertRefused(await caller.try("update_instance", unknown), 404, "not_found");
    // A record's 404 comes before a state's 409: there is no such member, last owner or not.
    assertRefused(await caller.try("remove_member", { userId: "x" }), 404, "not_found");
  },
);

scenario("Lengths count code points, as sent", ["general.length.unit"], async ({ caller }) => {
  const made = await caller.create_instance({ name: "🙂".repeat(80) });
  assert.equal(made.instance.name, "🙂".repeat(80));
  assertInvalid(await caller.try("create_instance", { name: "🙂".repeat(81) }), "name");
  assert.equal((await caller.create_instance({ name: " " })).instance.name, " ");
  // The emoji of a family is seven code points, although it is shown as one sign.
  const families = "👨‍👩‍👧‍👦".repeat(11);
  assert.equal(
    (await caller.create_instance({ name: `${families}abc` })).instance.name.length,
    124,
  );
  assertInvalid(await caller.try("create_instance", { name: `${families}abcd` }), "name");
});

scenario("Integers are whole JSON numbers", ["general.integer"], async ({ caller }) => {
  const send = (limit: string) =>
    post(caller, "list_sessions", { headers: json, body: `{"limit":${limit}}` });
  for (const limit of [
    '"5"',
    "1.5",
    "1e309",
    "-1e309",
    "true",
    "[5]",
    "9007199254740993",
    "1e2000",
  ]) {
    assertInvalid(await send(limit), "limit", limit);
  }
  for (const limit of ["5.0", "5", "5e0", "200"])
    assert.equal((await send(limit)).status, 200, limit);
});

scenario(
  "The listing shows a key the actions it may call, with permission and schemas",
  ["general.listing"],
  async ({ caller, world }) => {
    assertRefused(await request(world.baseUrl, "/api/rest/actions"), 401, "unauthenticated");
    const full = await listed(caller);
    assert.deepEqual(full.map(({ name }) => name).sort(), [...actionNames].sort());
    for (const entry of full) {
      const { permission, summary }: Action = registry[entry.name as keyof typeof registry];
      assert.deepEqual([entry.permission, entry.summary], [permission, summary]);
      assert.equal(entry.input["additionalProperties"], false, entry.name);
      assert.equal(entry.input["type"], "object");
      assert.equal(entry.result["type"], "object");
      assert.ok(!JSON.stringify(entry).includes("idOf"), "marks of ours are not published");
    }
    const narrow = world.callerFor(await world.makeKey(world.organizations[0], ["sessions:view"]));
    assert.deepEqual((await listed(narrow)).map(({ name }) => name).sort(), [
      "confirm_device_sign_in",
      "create_device_sign_in",
      "get_request",
      "get_session_diff",
      "get_session_file_diff",
      "get_session_git",
      "get_session_summary",
      "list_exposures",
      "list_parked_sessions",
      "list_pending_requests",
      "list_queued_prompts",
      "list_schedule_runs",
      "list_scheduled_prompts",
      "list_session_commands",
      "list_session_events",
      "list_session_grants",
      "list_session_ports",
      "list_session_rules",
      "list_session_turns",
      "list_sessions",
      "list_sign_ins",
      "list_triggers",
      "mark_session_read",
      "open_session_link",
      "preview_scheduled_prompt",
      "read_session_entry",
      "revoke_sign_in",
      "search_requests",
      "search_session_events",
      "search_sessions",
      "wait_for_session",
      "whoami",
    ]);
  },
);

interface ListedAction {
  name: string;
  summary: string;
  permission: string | null;
  input: Record<string, unknown>;
  result: Record<string, unknown>;
}

async function listed(caller: Caller): Promise<ListedAction[]> {
  const reply = await caller.request("/api/rest/actions");
  assert.equal(reply.status, 200);
  return (reply.body as { actions: ListedAction[] }).actions;
}

scenario(
  "The interface's actions have its six permissions; only extensions have the two of access, or none",
  ["auth.permission.names"],
  async ({ caller }) => {
    const six = ["instances:view", "instances:edit", "instances:delete", "settings:edit"];
    six.push("sessions:view", "sessions:edit");
    const pinned = new Set<string>(pin.actions.map(({ name }) => name));
    const all = await listed(caller);
    const named = (isPinned: boolean) =>
      new Set(all.filter(({ name }) => pinned.has(name) === isPinned).map((a) => a.permission));
    assert.deepEqual(named(true), new Set(six));
    const ours = [...named(false)].filter((permission) => !six.includes(permission ?? ""));
    assert.deepEqual(new Set(ours), new Set(["access:view", "access:edit", null]));
  },
);

scenario(
  "The published description is Code API 1.0.0, and no path has a version in it",
  ["general.version.document", "general.version.path"],
  async ({ world }) => {
    const reply = await request(world.baseUrl, "/api/openapi.json");
    assert.equal(reply.status, 200);
    const { info, paths } = reply.body as {
      info: { title: string; version: string };
      paths: Record<string, object>;
    };
    assert.deepEqual([info.title, info.version], ["Code API", "1.0.0"]);
    const signInPaths = [
      "password",
      "confirm",
      "change-password",
      "out",
      "invitations/read",
      "invitations/accept",
      "passkeys/begin",
      "passkeys/add",
      "passkeys/remove",
      "passkey/begin",
      "passkey",
      "ways",
      "provider/begin",
      "device/begin",
      "device/poll",
      "device/read",
      "device/approve",
      "device/refuse",
      "first/read",
      "first",
      "phone/open",
      "phone/enter",
    ];
    const doors = ["/api/events", "/api/files", "/api/files/{fileId}", "/api/rest/actions"];
    assert.deepEqual(
      Object.keys(paths).sort(),
      [
        ...actionNames.map(path),
        ...doors,
        "/api/sessions/{sessionId}/events",
        "/api/triggers/{triggerId}",
        "/api/sign-in",
        ...signInPaths.map((each) => `/api/sign-in/${each}`),
      ].sort(),
    );
    for (const published of Object.keys(paths)) assert.doesNotMatch(published, /\/v\d+(\/|$)/i);
  },
);
