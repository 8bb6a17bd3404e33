// Bodies that are valid by the pin, and the same with one field set, changed or left out. They are made from
// the pin alone, not from the schemas that will check them.
import type { PinnedAction, PinnedField, PinnedShape } from "./pin.ts";

export type Body = Record<string, unknown>;

/** Values for fields that need a certain format; the pin has only some of these formats. */
const texts: Record<string, string> = {
  path: "/srv/code",
  rootPath: "/srv/code",
  directory: "/srv/code",
  repo: "acme/widget",
  cloneRepo: "acme/widget",
  url: "https://code.example/acme/widget.git",
  cloneUrl: "https://code.example/acme/widget.git",
  startAt: "2030-01-01T00:00:00Z",
};

/** A valid value of the field. */
function sample(shape: PinnedShape & { name?: string }): unknown {
  if (shape.enum) return shape.enum[0];
  switch (shape.type) {
    case "string":
      return texts[shape.name ?? ""] ?? "x";
    case "integer":
      return shape.min ?? 1;
    case "boolean":
      return true;
    case "array":
      return [sample(shape.items!)];
    case "map":
      return { a: "b" };
    default:
      return smallest(shape.fields!);
  }
}

/** The smallest valid body of an action, which also follows the pin's rules. */
export function validBody(action: PinnedAction): Body {
  return withField(action, [], undefined);
}

/**
 * A valid body in which the field at `path` has this value; undefined leaves it out. Fields that exclude
 * each other by a rule are left out; if the field itself is left out, one of them is set.
 */
export function withField(action: PinnedAction, path: string[], value: unknown): Body {
  const body = smallest(action.fields);
  const [top, ...rest] = path;
  if (top !== undefined) {
    const field = action.fields.find(({ name }) => name === top)!;
    if (rest.length === 0) put(body, top, value);
    else body[top] = nested(field, rest, value);
  }
  const changed = { path, value };
  settle(body, "", action, changed);
  for (const field of action.fields) {
    if (body[field.name] === undefined || path.join(".") === field.name) continue;
    if (field.type === "object")
      settle(body[field.name] as Body, `${field.name}.`, action, changed);
    if (field.items?.type !== "object") continue;
    for (const item of body[field.name] as Body[]) {
      settle(item, `${field.name}[].`, action, changed);
    }
  }
  return body;
}

/** The object, or the only item of the array, that contains the field. */
function nested(holder: PinnedField, [name]: string[], value: unknown): unknown {
  const inner = smallest((holder.fields ?? holder.items?.fields)!);
  put(inner, name!, value);
  return holder.type === "array" ? [inner] : inner;
}

function put(body: Body, name: string, value: unknown): void {
  if (value === undefined) delete body[name];
  else body[name] = value;
}

function smallest(fields: PinnedField[]): Body {
  return Object.fromEntries(fields.filter((f) => f.required).map((f) => [f.name, sample(f)]));
}

/** Sets one field of each group of which exactly one must be set. */
function settle(
  body: Body,
  prefix: string,
  { rules = [] }: PinnedAction,
  changed: { path: string[]; value: unknown },
): void {
  for (const { rule, fields } of rules) {
    if (rule !== "exactlyOneOf" || !fields.every((field) => isAt(field, prefix))) continue;
    const names = fields.map((field) => field.slice(prefix.length).replace(/:true$/, ""));
    if (names.some((name) => body[name] !== undefined && counts(name, body[name]))) continue;
    const own = changed.path.at(-1);
    const stepsIn = names.find((name) => name !== own)!;
    body[stepsIn] = stepsIn === "answers" ? [["x"]] : sampleOf(stepsIn);
  }
}

const isAt = (field: string, prefix: string) =>
  field.startsWith(prefix) && !/[.[]/.test(field.slice(prefix.length));

/** null counts as no target, and `reject: false` as no rejection. */
const counts = (name: string, value: unknown) =>
  value !== null && !(name === "reject" && value === false);

function sampleOf(name: string): unknown {
  if (name === "clone") return { repo: texts["repo"] };
  if (name === "reject") return true;
  if (name === "sessionIds") return ["x"];
  return texts[name] ?? "x";
}
