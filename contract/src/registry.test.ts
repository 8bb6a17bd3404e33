// What every action entry owes its readers, whatever the action: a summary, a fitting effect,
// refusals that exist, marks on ids and secrets, and doors closed to agents.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { Action } from "./action.ts";
import { groups } from "./groups.ts";
import { commonRefusals, refusals, type RefusalCode } from "./errors.ts";
import { idPrefixes } from "./ids.ts";
import { permissions } from "./permissions.ts";
import { actionNames, extensionNames, registry, type ActionName } from "./registry.ts";

const entries: [ActionName, Action][] = actionNames.map((name) => [name, registry[name]]);
type Schema = z.core.JSONSchema.JSONSchema;

/** Every named property of a published schema, with its path and its own schema. */
function properties(schema: Schema, path = ""): { path: string; name: string; schema: Schema }[] {
  const found: { path: string; name: string; schema: Schema }[] = [];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const inner = property as Schema;
    found.push({ path: `${path}${name}`, name, schema: inner });
    found.push(...properties(inner, `${path}${name}.`));
  }
  for (const part of schema.anyOf ?? []) found.push(...properties(part, path));
  if (schema.items) found.push(...properties(schema.items as Schema, path));
  for (const part of Object.values(schema.$defs ?? {})) found.push(...properties(part, path));
  return found;
}

const inputSchema = (entry: Action) => z.toJSONSchema(entry.input, { io: "input" });

function idMark(schema: Schema): unknown {
  const options = [schema, ...(schema.anyOf ?? [])];
  const parts = options.flatMap((option) => [option, option.items as Schema]);
  return parts.find((part) => part?.idOf !== undefined)?.idOf;
}

test("every action has a one-sentence summary, a known group and a known permission", () => {
  for (const [name, entry] of entries) {
    assert.match(name, /^[a-z]+(?:_[a-z]+)*$/);
    assert.match(entry.summary, /^[A-Z][^\n]*[a-z]\.$/, name);
    assert.ok(!/\. [A-Z]/.test(entry.summary), `${name}: more than one sentence`);
    assert.ok(Object.hasOwn(groups, entry.group), `${name}: ${entry.group}`);
    if (entry.details !== undefined) assert.match(entry.details, /\.$/, name);
    if (entry.permission === null) {
      assert.ok(
        [
          "whoami",
          "open_session_link",
          "list_sign_ins",
          "revoke_sign_in",
          "create_device_sign_in",
          "confirm_device_sign_in",
        ].includes(name),
        name,
      );
    } else assert.ok(Object.hasOwn(permissions, entry.permission), name);
  }
});

test("an action's effect fits its permission and its name", () => {
  for (const [name, entry] of entries) {
    const looks = /^(?:list|get|read|browse|search|poll|wait|preview)_|^whoami$/.test(name);
    assert.equal(entry.effect === "reads", looks, name);
    if (entry.permission && !entry.permission.endsWith(":view")) assert.ok(!looks, name);
    if (/^(?:delete|remove|revoke|unlink|end)_/.test(name)) {
      assert.equal(entry.effect, "destroys", name);
    }
  }
});

test("an action lists only refusals of its own, each once", () => {
  const common: readonly RefusalCode[] = commonRefusals;
  for (const [name, entry] of entries) {
    assert.equal(new Set(entry.refusals).size, entry.refusals.length, name);
    for (const code of entry.refusals) {
      assert.ok(Object.hasOwn(refusals, code), `${name}: ${code}`);
      assert.ok(!common.includes(code), `${name}: ${code} is common to all`);
    }
  }
});

test("an action that takes an id can answer that it names nothing", () => {
  for (const [name, entry] of entries) {
    const takesId = properties(inputSchema(entry)).some(({ schema }) => idMark(schema));
    // delete_session treats each id by itself, so unknown ids are failures among others.
    const code = name === "delete_session" ? "nothing_deleted" : "not_found";
    // Roles have names instead of ids, and links have tokens.
    const takesOther = /^(?:update_role|delete_role|open_session_link)$/.test(name);
    assert.equal(entry.refusals.includes(code), takesId || takesOther, name);
  }
});

test("an action answered from records alone is never refused by a host", () => {
  for (const [name, entry] of entries) {
    if (entry.reach === "host") continue;
    for (const code of ["host_offline", "host_refused", "daemon_outdated"] as const) {
      assert.ok(!entry.refusals.includes(code), name);
    }
  }
});

test("a host's change can be called again, or another action shows whether it took effect", () => {
  for (const [name, { effect, reach, idempotent, shownBy }] of entries) {
    if (effect === "reads") assert.ok(!idempotent && shownBy === undefined, name);
    else if (reach === "host") assert.notEqual(idempotent === true, shownBy !== undefined, name);
    if (shownBy === undefined) continue;
    assert.equal((registry[shownBy as ActionName] as Action | undefined)?.effect, "reads", name);
  }
});

test("an action that pages through the entries of another takes its filters and needs the same permission", () => {
  const paged = entries.filter(([, { pagedBy }]) => pagedBy !== undefined);
  assert.ok(paged.length > 0);
  for (const [name, { pagedBy, input, result, permission, closedToAgents }] of paged) {
    const other = registry[pagedBy as ActionName] as Action;
    const fields = Object.keys(other.input.shape);
    assert.deepEqual(
      Object.keys(input.shape).filter((field) => !fields.includes(field)),
      [],
      name,
    );
    assert.ok(fields.includes("cursor") && fields.includes("limit"), name);
    const lists = (schema: z.ZodType) =>
      Object.keys((schema as z.ZodObject).shape).filter((field) => !field.startsWith("next"));
    assert.ok(lists(result).includes(lists(other.result)[0]!), name);
    assert.deepEqual([other.permission, other.closedToAgents], [permission, closedToAgents], name);
  }
});

test("the results that show a secret once are marked", () => {
  const marked = entries.filter(([, entry]) => entry.resultHoldsSecret).map(([name]) => name);
  assert.deepEqual(marked.sort(), [
    "create_api_key",
    "create_device_sign_in",
    "create_exposure",
    "create_instance",
    "create_invitation",
    "create_preview",
    "create_session_link",
    "create_trigger",
    "create_webhook",
    "regenerate_pairing_token",
    "rotate_api_key",
    "update_trigger",
    "update_webhook",
  ]);
});

test("the actions that need a fresh sign-in are these (decision 0091)", () => {
  const fresh = entries.filter(([, entry]) => entry.needsFreshSignIn).map(([name]) => name);
  assert.deepEqual(fresh.sort(), [
    "confirm_device_sign_in",
    "create_api_key",
    "create_device_sign_in",
    "create_exposure",
    "create_invitation",
    "create_preview",
    "create_trigger",
    "create_webhook",
    "remove_connected_identity",
    "remove_member",
    "rotate_api_key",
    "update_member",
    "update_role",
    "update_sign_in_settings",
    "update_trigger",
    "update_webhook",
  ]);
});

test("the inputs that are never logged are marked", () => {
  const marked = entries.flatMap(([name, entry]) =>
    properties(inputSchema(entry))
      .filter(({ schema }) => schema.writeOnly)
      .map(({ path }) => `${name}.${path}`),
  );
  assert.deepEqual(marked.sort(), [
    "confirm_device_sign_in.digits",
    "link_agent_identity.sealedSecret",
    "open_session_link.token",
    "run_shell.command",
    "submit_agent_login.code",
    "update_sign_in_settings.clientSecret",
  ]);
});

test("A11: every action is closed to agents, unless it is on the list of those that are open", () => {
  // Open means: about the agent's own session, the sessions it started, or their host. Row-level security
  // enforces that, and control-plane/src/agent-reach.test.ts proves it for each of these.
  const open: ActionName[] = [
    ...(["whoami", "list_instances", "search_instances", "get_instance"] as const),
    ...(["list_directories", "browse_directory", "list_github_repos"] as const),
    ...(["list_agent_kinds", "list_models"] as const),
    ...(["list_sessions", "search_sessions", "get_session_summary"] as const),
    ...(["get_session_diff", "get_session_file_diff", "get_session_git"] as const),
    ...(["list_session_events", "search_session_events", "list_session_turns"] as const),
    ...(["wait_for_session", "list_queued_prompts"] as const),
    ...(["list_pending_requests", "search_requests", "get_request"] as const),
    ...(["start_session", "send_prompt", "abort_session", "rename_session"] as const),
  ];
  const found = entries.filter(([, { closedToAgents }]) => !closedToAgents).map(([name]) => name);
  assert.deepEqual(found.sort(), open.sort());
});

test("every field that names a record of ours carries the mark of its kind", () => {
  // Names that agents and their providers give, and ids of things that are not records.
  const foreign =
    /^(?:clientId|providerId|modelId|projectId|messageId|beforeMessageId|partId|fileId|turnId|shellId|callId|operationId|queuedTurnIds|runningShellIds)$/;
  let marked = 0;
  for (const [name, entry] of entries) {
    const both = [...properties(inputSchema(entry)), ...properties(z.toJSONSchema(entry.result))];
    for (const field of both) {
      const where = `${name}.${field.path}`;
      if (!/Ids?$/.test(field.name) || foreign.test(field.name)) continue;
      const mark = String(idMark(field.schema));
      assert.ok(Object.hasOwn(idPrefixes, mark), `${where} has no mark`);
      const [kind] = /[a-z]+Ids?$/i.exec(field.name) ?? [];
      assert.ok(kind?.toLowerCase().includes(mark.toLowerCase()), `${where} is marked ${mark}`);
      marked++;
    }
  }
  assert.ok(marked > 60);
});

/** Whether a reader of the field's schema finds out what the field is. */
function isDescribed({ description, $ref, anyOf, items }: Schema): boolean {
  if (description !== undefined || $ref !== undefined) return true;
  if (anyOf) return anyOf.some(isDescribed);
  return (items as Schema | undefined)?.$ref !== undefined;
}

test("every field of every input and result has a description", () => {
  const missing = new Set<string>();
  for (const [name, entry] of entries) {
    const result = z.toJSONSchema(entry.result);
    const both = { input: inputSchema(entry), result };
    for (const [side, schema] of Object.entries(both)) {
      for (const field of properties(schema)) {
        if (!isDescribed(field.schema)) missing.add(`${name} ${side}: ${field.path}`);
      }
    }
  }
  assert.deepEqual([...missing], []);
});

test("inputs publish whole numbers, strict objects and no defaults that parsing would apply", () => {
  for (const [name, entry] of entries) {
    for (const { path, schema } of properties(inputSchema(entry))) {
      assert.notEqual(schema.type, "number", `${name}.${path}`);
      if (schema.properties) assert.equal(schema.additionalProperties, false, `${name}.${path}`);
    }
  }
  assert.deepEqual(registry.list_sessions.input.parse({}), {});
  assert.deepEqual(registry.list_sessions.input.parse({ limit: 5.0 }), { limit: 5 });
  for (const limit of [0, 201, 1.5, "5", true, Infinity, null]) {
    assert.ok(!registry.list_sessions.input.safeParse({ limit }).success, String(limit));
  }
});

test("results are objects, strict throughout, and their named records have one meaning", () => {
  const named = new Map<string, string>();
  for (const [name, entry] of entries) {
    const schema = z.toJSONSchema(entry.result);
    const inner = schema.$ref ? Object.values(schema.$defs ?? {}) : [schema];
    assert.ok(
      inner.some((part) => part.type === "object"),
      name,
    );
    for (const part of [schema, ...properties(schema).map((property) => property.schema)]) {
      if (part.properties) assert.equal(part.additionalProperties, false, name);
    }
    for (const [id, record] of Object.entries(schema.$defs ?? {})) {
      const text = JSON.stringify(record);
      assert.equal(named.get(id) ?? text, text, `two records are called ${id}`);
      named.set(id, text);
    }
  }
  for (const id of ["Instance", "InstanceDetail", "Session", "Schedule", "Exposure", "ApiKey"]) {
    const found = named.has(id) || entries.some(([, entry]) => entry.result.meta()?.id === id);
    assert.ok(found, id);
  }
});

test("a key's permissions are named once, and an agent's key holds no more than it may", () => {
  const { input } = registry.create_api_key;
  const key = { name: "k", scope: "user", permissions: ["sessions:view"] };
  assert.ok(input.safeParse(key).success);
  assert.ok(input.safeParse({ ...key, permissions: [] }).success);
  assert.ok(input.safeParse({ ...key, userId: "u", expiresAt: "2030-01-01T00:00:00Z" }).success);
  const broken: [object, string][] = [
    [{ permissions: ["sessions:view", "sessions:view"] }, "permissions"],
    [{ sessionId: "s", permissions: ["sessions:view", "access:edit"] }, "permissions"],
    [{ scope: "organization", userId: "u" }, "userId"],
    [{ expiresAt: "2030-01-01T00:00:00" }, "expiresAt"],
    [{ scope: "agent" }, "scope"],
  ];
  for (const [change, field] of broken) {
    const issues = input.safeParse({ ...key, ...change }).error?.issues ?? [];
    assert.deepEqual(
      issues.map((issue) => issue.path.join(".")),
      [field],
      JSON.stringify(change),
    );
  }
});

test("a command is named without its slash", () => {
  const { input } = registry.run_command;
  assert.ok(input.safeParse({ sessionId: "s", command: "compact" }).success);
  assert.ok(!input.safeParse({ sessionId: "s", command: "/compact" }).success);
});

test("the extensions are listed once", () => {
  assert.equal(new Set(extensionNames).size, extensionNames.length);
});
