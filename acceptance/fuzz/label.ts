// Decides whether a request must be accepted or refused, from its bytes and the action's shape alone. It
// uses the pin and the readings in the comments below, and no code of the service.
import { judgeForm, type Verdict } from "./forms.ts";
import type { ActionShape, Rule, Shape } from "./shape.ts";

export interface RequestParts {
  contentType: string | undefined;
  contentEncoding?: string;
  body: Buffer | undefined;
}

export type Label = { verdict: Verdict; status?: number };

/** R5. */
const largestBody = 8 * 1024 * 1024;

export function labelOf(action: ActionShape, request: RequestParts): Label {
  const { contentType = "", contentEncoding = "identity", body = Buffer.alloc(0) } = request;
  if (body.length > largestBody) return { verdict: "refuse", status: 413 };
  const [mediaType = "", ...parameters] = contentType.toLowerCase().split(";");
  if (mediaType.trim() !== "application/json") return { verdict: "refuse" };
  if (contentEncoding.toLowerCase() !== "identity") return { verdict: "refuse" };
  const odd = parameters.some((parameter) => !/^\s*charset="?utf-8"?\s*$/.test(parameter));
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as unknown;
  } catch {
    return { verdict: "refuse" };
  }
  const marked = body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]));
  const verdicts: Verdict[] = odd || marked || action.dependsOnRecord ? ["either"] : [];
  verdicts.push(judgeText(value), judgeShape(action.body, value));
  verdicts.push(...action.rules.map((rule) => judgeRule(rule, value)));
  return { verdict: strictest(verdicts) };
}

function strictest(verdicts: Verdict[]): Verdict {
  if (verdicts.includes("refuse")) return "refuse";
  return verdicts.includes("either") ? "either" : "accept";
}

/** NUL, a lone surrogate and the key `__proto__` are refused wherever they stand. */
function judgeText(body: unknown): Verdict {
  const open = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string" && !isText(value)) return "refuse";
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "__proto__" || !isText(key)) return "refuse";
      open.push(inner);
    }
  }
  return "accept";
}

function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function judgeShape(shape: Shape, value: unknown): Verdict {
  // R6: null only where the interface says so.
  if (value === null) return shape.nullable ? "accept" : "refuse";
  if (shape.enum) return shape.enum.includes(value as string) ? "accept" : "refuse";
  switch (shape.type) {
    case "string":
      return judgeString(shape, value);
    case "integer":
      return judgeInteger(shape, value);
    case "boolean":
      return typeof value === "boolean" ? "accept" : "refuse";
    case "array":
      return judgeArray(shape, value);
    case "map":
      // Any key is a key of a map, only its value has a shape.
      return isObject(value)
        ? strictest(Object.values(value).map((inner) => judgeShape(shape.values!, inner)))
        : "refuse";
    default:
      return judgeObject(shape, value);
  }
}

/** R7: lengths are counted in code points, and nothing is trimmed. */
function judgeString(shape: Shape, value: unknown): Verdict {
  if (typeof value !== "string") return "refuse";
  const { min = 0, max = Infinity, form } = shape;
  let length = 0;
  for (const _ of value) {
    length++;
    // A megabyte is not counted to its end once nothing can change.
    if (length > max || (max === Infinity && length >= min)) break;
  }
  if (length < min || length > max) return "refuse";
  return form ? judgeForm(form, value) : "accept";
}

/** R7: 5.0 is an integer, "5" is not. */
function judgeInteger({ min = -Infinity, max = Infinity }: Shape, value: unknown): Verdict {
  if (!Number.isInteger(value)) return "refuse";
  const number = value as number;
  if (number < min || number > max) return "refuse";
  return Number.isSafeInteger(number) ? "accept" : "either";
}

/** R33: an id may stand there twice. */
function judgeArray(shape: Shape, value: unknown): Verdict {
  if (!Array.isArray(value)) return "refuse";
  const { min = 0, max = Infinity } = shape;
  if (value.length < min || value.length > max) return "refuse";
  if (shape.unique && new Set(value).size < value.length) return "refuse";
  return strictest(value.map((item) => judgeShape(shape.items!, item)));
}

/** Undeclared fields are refused, at every level. */
function judgeObject({ fields = [] }: Shape, value: unknown): Verdict {
  if (!isObject(value)) return "refuse";
  const declared = new Map(fields.map((field) => [field.name, field]));
  if (fields.some(({ name, required }) => required && !Object.hasOwn(value, name))) return "refuse";
  return strictest(
    Object.entries(value).map(([key, inner]) => {
      const field = declared.get(key);
      return field ? judgeShape(field, inner) : "refuse";
    }),
  );
}

/** R19, R29, R33, R35, R44, R50. */
function judgeRule(rule: Rule, body: unknown): Verdict {
  const verdicts = objectsWithin(body, rule.within).map((object): Verdict => {
    const given = rule.names.filter((name) => isGiven(rule, name, object[name]));
    if (rule.rule === "exactlyOneOf") return given.length === 1 ? "accept" : "refuse";
    // What is left after merging depends on the record, save when none or two would surely be.
    const cleared = rule.names.every((name) => object[name] === null);
    return given.length > 1 || cleared ? "refuse" : "accept";
  });
  return strictest(verdicts);
}

function isGiven(rule: Rule, name: string, value: unknown): boolean {
  if (name === rule.onlyTrue) return value === true;
  return value !== undefined && value !== null;
}

function objectsWithin(value: unknown, [step, ...rest]: string[]): Record<string, unknown>[] {
  if (step === "[]") {
    return Array.isArray(value) ? value.flatMap((item) => objectsWithin(item, rest)) : [];
  }
  if (!isObject(value)) return [];
  if (step === undefined) return [value];
  return Object.hasOwn(value, step) ? objectsWithin(value[step], rest) : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
