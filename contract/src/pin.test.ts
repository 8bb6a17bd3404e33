// The 49 actions of the interface are frozen: their names, permissions and request bodies are held
// against pin.json, which was written from the interface and not from this code. A difference is a
// decision about the public promise, never a fix to the pin.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { z } from "zod";
import type { Action } from "./action.ts";
import { AgentKind } from "./records/agent-kind.ts";
import { InstanceStatus } from "./records/instance.ts";
import { LoginFlow } from "./records/login.ts";
import { AnswerOutcome } from "./records/request.ts";
import { Frequency } from "./records/schedule.ts";
import { SessionStatus } from "./records/session.ts";
import { permissionNames } from "./permissions.ts";
import { extensionNames, registry, type ActionName } from "./registry.ts";

interface PinnedShape {
  type: string;
  nullable?: boolean;
  enum?: unknown[];
  min?: number;
  max?: number;
  default?: unknown;
  format?: string;
  secret?: boolean;
  items?: PinnedShape;
  values?: PinnedShape;
  fields?: PinnedField[];
}
interface PinnedField extends PinnedShape {
  name: string;
  required: boolean;
}
interface PinnedAction {
  name: ActionName;
  permission: string;
  extraPermission?: { when: Record<string, unknown>; permission: string };
  fields: PinnedField[];
  rules?: { rule: string; fields: string[] }[];
  resultKeys?: string[];
}
interface Pin {
  permissions: string[];
  agentKinds: string[];
  instanceStatuses: string[];
  sessionStatuses: string[];
  frequencies: string[];
  permissionAnswerStatuses: string[];
  loginFlows: string[];
  exposureTtlMinutes: number[];
  actions: PinnedAction[];
}

const pin = JSON.parse(readFileSync(new URL("pin.json", import.meta.url), "utf8")) as Pin;

type Schema = z.core.JSONSchema.JSONSchema;

/** Reads a published schema back into the pin's form, so that the two can be compared as a whole. */
function readShape(schema: Schema): PinnedShape {
  const alternatives = schema.anyOf;
  if (alternatives !== undefined) {
    const rest = alternatives.filter((alternative) => alternative.type !== "null");
    assert.equal(rest.length, 1, "only null may stand beside a type");
    assert.equal(alternatives.length, 2);
    const { anyOf: _, ...own } = schema;
    return { ...readShape({ ...rest[0], ...own }), nullable: true };
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type as string[];
    const rest = types.filter((type) => type !== "null");
    assert.equal(rest.length, 1);
    return { ...readShape({ ...schema, type: rest[0] } as Schema), nullable: true };
  }
  const shape: PinnedShape = { type: String(schema.type) };
  if (schema.enum !== undefined) shape.enum = [...schema.enum];
  const min = schema.minLength ?? schema.minimum ?? schema.minItems;
  const max = schema.maxLength ?? schema.maximum ?? schema.maxItems;
  if (min !== undefined) shape.min = min;
  if (max !== undefined) shape.max = max;
  if (schema.default !== undefined) shape.default = schema.default;
  if (schema.writeOnly === true) shape.secret = true;
  if (schema.type === "array") shape.items = readShape(schema.items as Schema);
  if (schema.type === "object") {
    if (schema.properties === undefined) {
      shape.type = "map";
      shape.values = readShape(schema.additionalProperties as Schema);
    } else {
      assert.equal(schema.additionalProperties, false, "objects allow nothing undeclared");
      shape.fields = readFields(schema);
    }
  }
  return shape;
}

function readFields(schema: Schema): PinnedField[] {
  const required = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    required: required.includes(name),
    ...readShape(property as Schema),
  }));
}

/** What is compared: without the order of fields, and without defaults and formats. */
function comparable(fields: PinnedField[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(({ name, ...field }) => [name, comparableShape(field)]));
}

function comparableShape(shape: PinnedShape): Record<string, unknown> {
  const { default: _default, format: _format, items, values, fields, ...plain } = shape;
  // The pin marks one field as secret; that login codes are marked too is held by another test.
  delete plain.secret;
  return {
    ...plain,
    ...(items && { items: comparableShape(items) }),
    ...(values && { values: comparableShape(values) }),
    ...(fields && { fields: comparable(fields) }),
  };
}

const publish = (entry: Action) => z.toJSONSchema(entry.input, { io: "input" });

function inputOf(name: ActionName): z.ZodObject {
  return registry[name].input;
}

test("the registry holds the interface's 49 actions and the named extensions, nothing else", () => {
  assert.equal(pin.actions.length, 49);
  const extensions: readonly string[] = extensionNames;
  assert.deepEqual(
    Object.keys(registry)
      .filter((name) => !extensions.includes(name))
      .sort(),
    pin.actions.map((action) => action.name).sort(),
  );
  for (const name of extensions) assert.ok(Object.hasOwn(registry, name), name);
});

test("the interface's words for states and kinds are exactly ours", () => {
  assert.deepEqual(AgentKind.options, pin.agentKinds);
  assert.deepEqual(InstanceStatus.options, pin.instanceStatuses);
  assert.deepEqual(SessionStatus.options, pin.sessionStatuses);
  assert.deepEqual(Frequency.options, pin.frequencies);
  assert.deepEqual(LoginFlow.options, pin.loginFlows);
  assert.deepEqual(AnswerOutcome.shape.status.options, pin.permissionAnswerStatuses);
  const { ttlMinutes } = registry.create_exposure.input.shape;
  assert.deepEqual([...ttlMinutes.values], pin.exposureTtlMinutes);
  assert.deepEqual(
    permissionNames.filter((name) => !name.startsWith("access:")),
    pin.permissions,
  );
});

for (const pinned of pin.actions) {
  const entry: Action = registry[pinned.name];

  test(`${pinned.name} asks for the pinned permission`, () => {
    assert.equal(entry.permission, pinned.permission);
    assert.equal(entry.extraPermission?.permission, pinned.extraPermission?.permission);
    if (pinned.extraPermission === undefined) return;
    const { when } = pinned.extraPermission;
    const otherwise = Object.fromEntries(Object.keys(when).map((key) => [key, false]));
    assert.equal(entry.extraPermission?.when(when), true);
    assert.equal(entry.extraPermission?.when(otherwise), false);
    assert.equal(entry.extraPermission?.when({}), false);
  });

  test(`${pinned.name} takes the pinned body`, () => {
    const schema = publish(entry);
    assert.equal(schema.additionalProperties, false);
    assert.equal(schema.$defs, undefined, "inputs are self-contained");
    assert.deepEqual(comparable(readFields(schema)), comparable(pinned.fields));
  });

  test(`${pinned.name} publishes the pinned defaults and secrets`, () => {
    const fields = new Map(readFields(publish(entry)).map((field) => [field.name, field]));
    for (const field of pinned.fields) {
      if (field.default !== undefined) {
        assert.deepEqual(fields.get(field.name)?.default, field.default, field.name);
      }
      if (field.secret) assert.equal(fields.get(field.name)?.secret, true, field.name);
    }
  });

  test(`${pinned.name} names its result as the interface spells it`, () => {
    const published = JSON.stringify(z.toJSONSchema(entry.result));
    for (const key of pinned.resultKeys ?? []) assert.ok(published.includes(`"${key}":`), key);
  });
}

test("fields with a pinned format refuse what breaks it", () => {
  const broken: Record<string, string[]> = {
    "absolute-path": ["", "src", "a/b", "./a", "~/a"],
    "owner/name": ["", "name", "a/b/c", "/b", "a/", "-a/b", "a/..", "a/.git", "a/-b", "a b/c"],
    "date-time": ["", "soon", "2030-01-01", "2026-13-01T00:00:00Z", "2030-02-30T00:00:00Z"],
  };
  let checked = 0;
  const visit = (action: string, fields: PinnedField[], shape: z.ZodObject["shape"]) => {
    for (const field of fields) {
      const schema = shape[field.name] as z.ZodType;
      for (const value of broken[field.format ?? ""] ?? []) {
        assert.ok(!schema.safeParse(value).success, `${action}.${field.name} took "${value}"`);
        checked++;
      }
      if (field.type === "object") {
        const inner = (schema as z.ZodOptional<z.ZodObject>).unwrap();
        visit(action, field.fields ?? [], inner.shape);
      }
    }
  };
  for (const { name, fields } of pin.actions) visit(name, fields, inputOf(name).shape);
  assert.ok(checked > 30);
});

// For each pinned rule: bodies that keep it, and bodies that break it with the fields to be named.
const prompted = {
  prompt: "p",
  instanceIds: ["i"],
  frequency: "never",
  startAt: "2030-01-01T00:00",
};
const url = "https://h/r";
const rules: Record<string, { keep: object[]; break: [object, string[]][] }> = {
  "clone_repository: repo, url": {
    keep: [
      { instanceId: "i", rootPath: "/r", repo: "a/b" },
      { instanceId: "i", rootPath: "/r", url, name: "x" },
    ],
    break: [
      [{ instanceId: "i", rootPath: "/r" }, ["repo", "url"]],
      [{ instanceId: "i", rootPath: "/r", repo: "a/b", url }, ["repo", "url"]],
    ],
  },
  "start_session: directory, clone": {
    keep: [
      { instanceId: "i", directory: "/d" },
      { instanceId: "i", clone: { url } },
    ],
    break: [
      [{ instanceId: "i" }, ["directory", "clone"]],
      [{ instanceId: "i", directory: "/d", clone: { url } }, ["directory", "clone"]],
    ],
  },
  "start_session: clone.repo, clone.url": {
    keep: [{ instanceId: "i", clone: { repo: "a/b", name: "c" } }],
    break: [
      [{ instanceId: "i", clone: {} }, ["clone.repo", "clone.url"]],
      [{ instanceId: "i", clone: { repo: "a/b", url } }, ["clone.repo", "clone.url"]],
    ],
  },
  "delete_session: sessionId, sessionIds": {
    keep: [{ sessionId: "" }, { sessionIds: ["a", "a"] }],
    break: [
      [{}, ["sessionId", "sessionIds"]],
      [{ sessionId: "a", sessionIds: ["a"] }, ["sessionId", "sessionIds"]],
    ],
  },
  "send_prompt: attachments[].fileId, attachments[].url": {
    keep: [
      { sessionId: "s", text: "t", attachments: [] },
      { sessionId: "s", text: "t", attachments: [{ mime: "m", fileId: "f" }] },
      {
        sessionId: "s",
        text: "t",
        attachments: [
          { mime: "m", url: "data:,x" },
          { mime: "m", url },
        ],
      },
    ],
    break: [
      [
        { sessionId: "s", text: "t", attachments: [{ mime: "m" }] },
        ["attachments.0.fileId", "attachments.0.url"],
      ],
      [
        { sessionId: "s", text: "t", attachments: [{ mime: "m", fileId: "f", url }] },
        ["attachments.0.fileId", "attachments.0.url"],
      ],
      [
        { sessionId: "s", text: "t", attachments: [{ mime: "m", url: "file:///x" }] },
        ["attachments.0.url"],
      ],
    ],
  },
  "answer_question: answers, reject:true": {
    keep: [
      { requestId: "r", answers: [["A"], []] },
      { requestId: "r", answers: [["A"]], reject: false },
      { requestId: "r", reject: true },
    ],
    break: [
      [{ requestId: "r" }, ["answers", "reject"]],
      [{ requestId: "r", reject: false }, ["answers", "reject"]],
      [{ requestId: "r", answers: [], reject: true }, ["answers", "reject"]],
    ],
  },
  "create_scheduled_prompt: directory, cloneRepo, cloneUrl": {
    keep: [
      { ...prompted, directory: "/d" },
      { ...prompted, directory: "/d", cloneRepo: null, cloneUrl: null },
      { ...prompted, directory: null, cloneUrl: url },
    ],
    break: [
      [prompted, ["directory", "cloneRepo", "cloneUrl"]],
      [{ ...prompted, directory: null }, ["directory", "cloneRepo", "cloneUrl"]],
      [{ ...prompted, directory: "/d", cloneRepo: "a/b" }, ["directory", "cloneRepo"]],
      [{ ...prompted, cloneRepo: "a/b", cloneUrl: url }, ["cloneRepo", "cloneUrl"]],
      [{ ...prompted, directory: "" }, ["directory"]],
    ],
  },
  "update_scheduled_prompt: directory, cloneRepo, cloneUrl": {
    keep: [
      { scheduleId: "s" },
      { scheduleId: "s", directory: null },
      { scheduleId: "s", directory: null, cloneUrl: url },
    ],
    break: [
      [{ scheduleId: "s", directory: "/d", cloneUrl: url }, ["directory", "cloneUrl"]],
      [
        { scheduleId: "s", directory: null, cloneRepo: null, cloneUrl: null },
        ["directory", "cloneRepo", "cloneUrl"],
      ],
      [{ scheduleId: "s", cloneRepo: "" }, ["cloneRepo"]],
    ],
  },
};

test("every pinned rule is tried", () => {
  const pinned = pin.actions.flatMap(({ name, rules = [] }) =>
    rules.map(({ fields }) => `${name}: ${fields.join(", ")}`),
  );
  assert.deepEqual(Object.keys(rules).sort(), pinned.sort());
});

for (const [rule, bodies] of Object.entries(rules)) {
  test(`the body keeps the rule of ${rule}`, () => {
    const input = inputOf(rule.slice(0, rule.indexOf(":")) as ActionName);
    for (const body of bodies.keep) {
      const parsed = input.safeParse(body);
      assert.ok(parsed.success, `${JSON.stringify(body)}: ${parsed.error?.message}`);
    }
    for (const [body, named] of bodies.break) {
      const issues = input.safeParse(body).error?.issues ?? [];
      assert.deepEqual(
        issues.map((issue) => issue.path.join(".")),
        named,
        JSON.stringify(body),
      );
    }
  });
}

/** The smallest body that the pin alone calls valid; rules are not considered. */
function smallest(fields: PinnedField[]): Record<string, unknown> {
  return Object.fromEntries(fields.filter((f) => f.required).map((f) => [f.name, sample(f)]));
}

function sample(shape: PinnedShape): unknown {
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.format === "absolute-path") return "/d";
  if (shape.format === "date-time") return "2030-01-01T00:00:00Z";
  if (shape.type === "array") return shape.items ? [sample(shape.items)] : [];
  if (shape.type === "object") return smallest(shape.fields ?? []);
  if (shape.type === "boolean") return true;
  if (shape.type === "integer") return shape.min ?? 1;
  return "x";
}

for (const { name, fields } of pin.actions) {
  test(`${name} refuses undeclared, missing, mistyped and null fields, and names them`, () => {
    const body = smallest(fields);
    const named = (value: unknown) =>
      (inputOf(name).safeParse(value).error?.issues ?? []).flatMap((issue) =>
        issue.code === "unrecognized_keys" ? issue.keys : issue.path.join("."),
      );
    assert.ok(named({ ...body, zz: 1 }).includes("zz"));
    for (const field of fields) {
      const { [field.name]: _, ...without } = body;
      if (field.required) assert.ok(named(without).includes(field.name), `without ${field.name}`);
      for (const wrong of [Symbol("x"), ...(field.nullable ? [] : [null])]) {
        assert.ok(
          named({ ...body, [field.name]: wrong }).some((path) => path.startsWith(field.name)),
          `${field.name}: ${String(wrong)}`,
        );
      }
    }
    for (const whole of [[], null, "x", 5, true]) {
      assert.ok(!inputOf(name).safeParse(whole).success, JSON.stringify(whole));
    }
  });
}

test("an empty text counts as valid wherever the pin gives no minimum and no format", () => {
  const restricted = new Set(["rootPath", "url", "directory", "cloneRepo", "cloneUrl"]);
  for (const { name, fields } of pin.actions) {
    for (const field of fields) {
      if (field.type !== "string" || field.enum || field.min || field.format) continue;
      if (restricted.has(field.name)) continue;
      const schema = inputOf(name).shape[field.name] as z.ZodType;
      assert.ok(schema.safeParse("").success, `${name}.${field.name}`);
    }
  }
});
