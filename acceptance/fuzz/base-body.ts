// Makes a random valid body for an action from its shape.
import { forms } from "./forms.ts";
import { Fields, type Node } from "./json-text.ts";
import type { Random } from "./random.ts";
import type { ActionShape, Field, Rule, Shape } from "./shape.ts";

/** Records that exist, for actions that neither need a host nor destroy anything. */
export interface KnownIds {
  instanceId: string;
}

const onKnownInstances = new Set([
  "get_instance",
  "update_instance",
  "regenerate_pairing_token",
  "list_sessions",
  "search_sessions",
  "list_pending_requests",
  "search_requests",
  "create_scheduled_prompt",
  "create_trigger",
]);

const words = ["widget", "Größe", "两个", "🙂🙃", "a b", "O'Brien; DROP", "<b>x</b>", "%s%n", "x"];

/** A place in a body, with the shape of its value. */
export interface Spot {
  shape: Shape;
  value: Node;
  set(value: Node): void;
}

export function makeBody(action: ActionShape, random: Random, known: KnownIds): Fields {
  const body = makeObject(action, action.body, random, known);
  for (const rule of action.rules) keepRule(action, rule, body, random, known);
  return body;
}

export function makeValue(
  action: ActionShape,
  shape: Shape & { name?: string },
  random: Random,
  known: KnownIds,
): Node {
  if (shape.nullable && random.oneIn(4)) return null;
  if (shape.enum) return random.pick(shape.enum);
  const { min = 0, max = Infinity } = shape;
  switch (shape.type) {
    case "string":
      return makeString(action, shape, random, known);
    case "integer":
      return min + random.below(Math.min(max - min + 1, 1_000_000));
    case "boolean":
      return random.oneIn(2);
    case "array": {
      const items = Array.from({ length: min + random.below(3) }, () =>
        makeValue(action, shape.items!, random, known),
      );
      return shape.unique ? [...new Set(items)] : items;
    }
    case "map":
      return new Fields([
        ["effort", random.pick(words)],
        [random.pick(words), makeValue(action, shape.values!, random, known)],
      ]);
    default:
      return makeObject(action, shape, random, known);
  }
}

function makeObject(action: ActionShape, shape: Shape, random: Random, known: KnownIds): Fields {
  const given = shape.fields!.filter(({ required, form }) =>
    form === "untold" && !required ? random.oneIn(3) : required || random.oneIn(2),
  );
  const entries = given.map((field): [string, Node] => [
    field.name,
    makeValue(action, field, random, known),
  ]);
  return new Fields(random.oneIn(2) ? entries.toReversed() : entries);
}

function makeString(
  action: ActionShape,
  shape: Shape & { name?: string },
  random: Random,
  known: KnownIds,
): string {
  const { name = "", form, max = 64 } = shape;
  if (form && forms[form].good.length > 0) return random.pick(forms[form].good);
  if (name === "email") return `fuzz-${random.below(2 ** 31)}@acme.example`;
  if (name === "timeZone") return "Europe/Berlin";
  // The items of `instanceIds` have no name.
  if (["instanceId", ""].includes(name) && onKnownInstances.has(action.name) && random.oneIn(3)) {
    return known.instanceId;
  }
  if (/Ids?$/.test(name) || name === "")
    return random.pick([unknownId(random), random.pick(words)]);
  return [...random.pick(words)].slice(0, max).join("");
}

const prefixes = [
  "ins",
  "ses",
  "req",
  "sch",
  "trg",
  "exp",
  "log",
  "run",
  "usr",
  "key",
  "org",
  "aud",
];
const letters = "0123456789abcdefghjkmnpqrstvwxyz";

/** An id of the right form that names nothing. */
export function unknownId(random: Random): string {
  const tail = Array.from({ length: 25 }, () => letters[random.below(32)]);
  return `${random.pick(prefixes)}_0${tail.join("")}`;
}

/** Sets exactly one of the rule's fields in every object that the rule is about. */
function keepRule(
  action: ActionShape,
  rule: Rule,
  body: Fields,
  random: Random,
  known: KnownIds,
): void {
  for (const { object, shape } of objectsOf(body, action.body, rule.within)) {
    const given = rule.names.filter((name) => object.get(name) !== undefined);
    // An update may leave out all of them.
    if (rule.rule === "exactlyOneOfAfterMerge" && given.length === 0) continue;
    const chosen = random.pick(rule.names);
    for (const name of rule.names) object.delete(name);
    const field = shape.fields!.find(({ name }) => name === chosen)!;
    const value = makeValue(action, { ...field, nullable: false }, random, known);
    object.set(chosen, chosen === rule.onlyTrue ? true : value);
  }
}

/** The objects of a body that a rule is about, each with its shape. */
export function objectsOf(
  value: Node | undefined,
  shape: Shape,
  [step, ...rest]: string[],
): { object: Fields; shape: Shape }[] {
  if (step === "[]") {
    return Array.isArray(value) ? value.flatMap((item) => objectsOf(item, shape.items!, rest)) : [];
  }
  if (!(value instanceof Fields)) return [];
  if (step === undefined) return [{ object: value, shape }];
  const field = shape.fields!.find(({ name }) => name === step)!;
  return objectsOf(value.get(step), field, rest);
}

/** Every place of a body below its top. */
export function spotsOf(shape: Shape, value: Node): Spot[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      spotAndBelow(shape.items!, item, (next) => (value[index] = next)),
    );
  }
  if (!(value instanceof Fields)) return [];
  return value.entries.flatMap((entry) => {
    const inner: Shape | undefined =
      shape.type === "map" ? shape.values : findField(shape, entry[0]);
    return inner ? spotAndBelow(inner, entry[1], (next) => (entry[1] = next)) : [];
  });
}

function spotAndBelow(shape: Shape, value: Node, set: (value: Node) => void): Spot[] {
  return [{ shape, value, set }, ...spotsOf(shape, value)];
}

function findField(shape: Shape, wanted: string): Field | undefined {
  return shape.fields?.find(({ name }) => name === wanted);
}
