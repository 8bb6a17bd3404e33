// What can be wrong, or surprising yet right, with the values of a body.
import { makeValue, objectsOf, spotsOf, unknownId } from "./base-body.ts";
import { pickSpot, replace, type Draft, type Mutation } from "./draft.ts";
import { debatable, forms } from "./forms.ts";
import { Fields, Raw, type Node } from "./json-text.ts";
import type { Shape } from "./shape.ts";

const any = () => true;
const isString = ({ type, enum: values }: Shape) => type === "string" && !values;
const isNumber = ({ type }: Shape) => type === "integer";
const hasMaximum = ({ type, max }: Shape) => type !== "integer" && max !== undefined;
const strings = (draft: Draft, make: () => string) => replace(draft, isString, make);

/** Objects of the body whose fields are declared, the body itself among them. */
function objects({ action, body }: Draft): { object: Fields; shape: Shape }[] {
  const inner = spotsOf(action.body, body).flatMap(({ shape, value }) =>
    shape.type === "object" && value instanceof Fields ? [{ object: value, shape }] : [],
  );
  return [{ object: body, shape: action.body }, ...inner];
}

/** Texts of a length in code points, of one code unit each or of two. */
function ofLength(draft: Draft, length: number): string {
  return draft.random.pick(["a", "é", "🙂", "漢"]).repeat(length);
}

function itemsOf(draft: Draft, shape: Shape, length: number): Node[] {
  const { action, random, known } = draft;
  return Array.from({ length }, () => makeValue(action, shape.items!, random, known));
}

const misfits = (random: Draft["random"]): Node =>
  random.pick<() => Node>([
    () => 7,
    () => "7",
    () => "true",
    () => true,
    () => false,
    () => 0,
    () => [],
    () => ["x"],
    () => new Fields(),
    () => new Fields([["x", 1]]),
    () => "OpenCode",
    () => [[["x"]]],
    () => [null],
  ])();

const numbers = {
  negative: ["-1", "-0", "-9007199254740993", "-1e3", "-0.0"],
  infinite: ["1e309", "-1e309", "1E400", "123e999999"],
  notANumber: [
    "NaN",
    "Infinity",
    "-Infinity",
    "undefined",
    "0x10",
    "+1",
    "01",
    ".5",
    "1_000",
    "1n",
  ],
  huge: ["9007199254740993", "18446744073709551616", "1e300", `1${"0".repeat(5000)}`, "2147483648"],
  fractional: ["5.0", "5.5", "1e2", "1e-2", "60.0", "0.1", "1.0000000000000000001", '"5"'],
};

function rawNumber(kind: keyof typeof numbers): Mutation {
  return (draft) => {
    const text = draft.random.pick(numbers[kind]);
    return (
      replace(draft, isNumber, () => new Raw(text)) || replace(draft, any, () => new Raw(text))
    );
  };
}

/** Puts a piece of text into a string, an unknown field, a key of a map, or a list. */
function planted(pieces: string[]): Mutation {
  return (draft) => {
    const { random, body } = draft;
    const piece = random.pick(pieces);
    const text = random.pick([piece, `${piece}x`, `x${piece}`, `x${piece}x`]);
    if (random.oneIn(6)) {
      const map = pickSpot(draft, ({ type }) => type === "map");
      const target = map?.value instanceof Fields ? map.value : body;
      target.set(text, "x");
      return true;
    }
    return strings(draft, () => text) || replace(draft, any, () => text);
  };
}

export const valueMutations = {
  nothing: any,

  missing(draft) {
    const { object, shape } = draft.random.pick(objects(draft));
    const required = shape.fields!.filter((field) => field.required);
    if (required.length === 0) return false;
    object.delete(draft.random.pick(required).name);
    return true;
  },

  extra(draft) {
    const { object } = draft.random.pick(objects(draft));
    const name = draft.random.pick([
      "x",
      "id",
      "",
      "organizationId",
      "Name",
      "name ",
      "instance_id",
    ]);
    object.set(name, draft.random.pick<Node>(["x", null, 1, new Fields()]));
    return true;
  },

  null: (draft) => replace(draft, any, () => null),
  wrongType: (draft) => replace(draft, any, () => misfits(draft.random)),
  notAnObject(draft) {
    const { body, random } = draft;
    draft.instead = random.pick<Node>([[], [body], null, "x", 1, true, [[]], "{}"]);
    return true;
  },

  empty: (draft) =>
    replace(draft, any, ({ shape }) => {
      if (shape.type === "array") return [];
      return shape.type === "object" || shape.type === "map" ? new Fields() : "";
    }),

  limit: (draft) =>
    replace(
      draft,
      ({ max, min }) => (max ?? min) !== undefined,
      ({ shape }) => {
        const bounds = [shape.min, shape.max].filter((bound) => bound !== undefined);
        const bound = draft.random.pick(bounds);
        if (shape.type === "integer") return bound;
        return shape.type === "array" ? itemsOf(draft, shape, bound) : ofLength(draft, bound);
      },
    ),

  beyondLimit: (draft) =>
    replace(
      draft,
      ({ max, min }) => (max ?? min) !== undefined,
      ({ shape }) => {
        const { min, max = Infinity } = shape;
        const bound = max < Infinity && !(min && draft.random.oneIn(4)) ? max + 1 : (min ?? 0) - 1;
        if (shape.type === "integer") return bound;
        if (bound < 0) return undefined;
        return shape.type === "array" ? itemsOf(draft, shape, bound) : ofLength(draft, bound);
      },
    ),

  aroundLimit: (draft) =>
    replace(draft, hasMaximum, ({ shape }) => {
      // Twice the code units of what is allowed, or one code point more written with as many.
      const length = Math.max(0, shape.max! + draft.random.below(4) - 2);
      return shape.type === "array" ? itemsOf(draft, shape, length) : "🙂".repeat(length);
    }),

  negative: rawNumber("negative"),
  infinite: rawNumber("infinite"),
  notANumber: rawNumber("notANumber"),
  huge: rawNumber("huge"),
  fractional: rawNumber("fractional"),

  loneSurrogate: planted(["\ud800", "\udfff", "\udc00\ud800", "\ud83d"]),
  nul: planted(["\0"]),
  rightToLeft: planted(["שלום", "\u202e", "\u2066مرحبا\u2069", "\u200f"]),
  control: planted(["\u0001", "\u001b[31m", "\r\n", "\ufeff", "\ufffe", "\u{10ffff}", "\u2028"]),

  prototypeKey(draft) {
    const { random } = draft;
    const name = random.pick(["__proto__", "__proto__", "constructor", "prototype", "toString"]);
    const value = random.pick<Node>([
      new Fields([["name", "x"]]),
      "x",
      null,
      new Fields([["prototype", new Fields([["polluted", true]])]]),
    ]);
    const map = pickSpot(draft, ({ type }) => type === "map");
    const target = map?.value instanceof Fields && random.oneIn(2) ? map.value : undefined;
    (target ?? random.pick(objects(draft)).object).set(name, target ? "x" : value);
    return true;
  },

  ids(draft) {
    const { random } = draft;
    const lists = ({ type, items }: Shape) => type === "array" && items!.type === "string";
    return replace(
      draft,
      (shape) => lists(shape) && !shape.items!.enum,
      () => {
        const length = random.pick([1, 2, 99, 100, 101, 250]);
        const id = unknownId(random);
        return Array.from({ length }, () => (random.oneIn(2) ? id : unknownId(random)));
      },
    );
  },

  otherId: (draft) =>
    replace(
      draft,
      (shape) => /Ids?$/i.test((shape as { name?: string }).name ?? ""),
      ({ shape }) => {
        const { random, known } = draft;
        const id = random.pick<Node>([
          unknownId(random),
          known.instanceId.toUpperCase(),
          `${known.instanceId} `,
          known.instanceId.replace("ins_", "ses_"),
          "00000000-0000-0000-0000-000000000000",
          `ins_${"z".repeat(26)}`,
          "' OR 1=1 --",
          42,
          [unknownId(random)],
        ]);
        return shape.type === "array" ? [id] : id;
      },
    ),

  rule(draft) {
    const { action, random, known, body } = draft;
    if (action.rules.length === 0) return false;
    const rule = random.pick(action.rules);
    const found = objectsOf(body, action.body, rule.within);
    if (found.length === 0) return false;
    const { object, shape } = random.pick(found);
    for (const name of rule.names) {
      object.delete(name);
      const field = shape.fields!.find((known) => known.name === name)!;
      const choice = random.below(4);
      if (choice === 0) object.set(name, null);
      else if (choice < 3) object.set(name, makeValue(action, field, random, known));
    }
    return true;
  },

  form: (draft) =>
    replace(
      draft,
      ({ form }) => form !== undefined,
      ({ shape }) => {
        const { good, bad } = forms[shape.form!];
        const lists = [good, bad, bad, debatable].filter((list) => list.length > 0);
        return draft.random.pick(draft.random.pick(lists));
      },
    ),

  longString: (draft) => strings(draft, () => ofLength(draft, 2 ** 20)),
} satisfies Record<string, Mutation>;
