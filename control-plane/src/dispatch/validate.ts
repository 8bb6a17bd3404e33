// Converts a parsed body to an action's input, or throws a refusal that names the invalid fields.
import { Refusal, type Action, type FieldError } from "@hawser/contract";
import type { z } from "zod";

const deepest = 32;
/** How many wrong fields a refusal lists, how many its message names, and how much of a name it shows. */
const mostFields = 20;
const mostNamed = 5;
const longestField = 200;

export function validate(action: Action, body: unknown): Record<string, unknown> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Refusal(
      "invalid_input",
      "The body must be a JSON object; send {} when the action has no fields.",
    );
  }
  refuseUnfit(body);
  const parsed = action.input.safeParse(body, { reportInput: true });
  if (!parsed.success) {
    const { issues } = parsed.error;
    const isUnknown = issues.some(
      ({ code, path }) => code === "unrecognized_keys" && path.length === 0,
    );
    throw invalid(issues.flatMap(fieldErrors), isUnknown ? ` ${knownFields(action)}` : "");
  }
  return parsed.data;
}

/** Throws a refusal of what every field refuses. `around` is the number of levels around an action's input. */
export function refuseUnfit(body: object, around = 0): void {
  const unfit = findUnfitText(body, deepest + around);
  if (unfit) throw invalid([unfit]);
}

function knownFields({ input }: Action): string {
  const names = Object.keys(input.shape);
  return names.length > 0
    ? `The action's fields are ${names.join(", ")}.`
    : "The action has no fields.";
}

function invalid(fields: FieldError[], hint = ""): Refusal {
  const shown = fields.slice(0, mostFields).map(({ field, message }) => ({
    field: field.length > longestField ? `${field.slice(0, longestField)}…` : field,
    message,
  }));
  const named = shown
    .slice(0, mostNamed)
    .map(({ field, message }) => (field ? `${field} ${message}` : message));
  if (fields.length > mostNamed) named.push(`and ${fields.length - mostNamed} more`);
  return new Refusal("invalid_input", `The body is not valid: ${named.join("; ")}.${hint}`, {
    fields: shown,
  });
}

interface Place {
  value: unknown;
  /** The place that contains this one, and its key there; undefined for the body. */
  within?: Place;
  key?: string;
  depth: number;
}

/**
 * What every field refuses, whatever its schema says: NUL, which PostgreSQL cannot store; half of a
 * surrogate pair, which is not text; the key `__proto__`; and nesting that no action needs.
 */
function findUnfitText(body: object, deepest: number): FieldError | undefined {
  const open: Place[] = [{ value: body, depth: 0 }];
  for (let place = open.pop(); place; place = open.pop()) {
    const { value, depth } = place;
    if (typeof value === "string") {
      if (value.includes("\0")) return fault(place, "must not hold a NUL character");
      if (!value.isWellFormed()) return fault(place, "must be well-formed Unicode");
    } else if (typeof value === "object" && value !== null) {
      if (depth >= deepest) return fault(place, `is nested more than ${deepest} levels deep`);
      for (const [key, inner] of Object.entries(value)) {
        const innerPlace: Place = { value: inner, within: place, key, depth: depth + 1 };
        if (key === "__proto__" || key.includes("\0") || !key.isWellFormed()) {
          return fault(innerPlace, "is not a field of this action");
        }
        open.push(innerPlace);
      }
    }
  }
  return undefined;
}

function fault(place: Place, message: string): FieldError {
  const path: PropertyKey[] = [];
  for (let at: Place | undefined = place; at?.within; at = at.within) {
    path.unshift(Array.isArray(at.within.value) ? Number(at.key) : at.key!);
  }
  return { field: pathText(path), message };
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const field = pathText(issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      field: pathText([...issue.path, key]),
      message: "is not a field of this action",
    }));
  }
  return [{ field, message: describe(issue) }];
}

function pathText(path: PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text ? `${text}.${String(part)}` : String(part);
  }, "");
}

function describe(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${withArticle(issue.expected)}`;
    case "invalid_value":
      if (issue.input === undefined) return "is required";
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      if (isNumber(issue.origin)) return `must be at least ${issue.minimum}`;
      if (issue.origin !== "array") return issue.message;
      return issue.minimum === 1
        ? "must not be empty"
        : `must have at least ${issue.minimum} items`;
    case "too_big":
      if (isNumber(issue.origin)) return `must be at most ${issue.maximum}`;
      return issue.origin === "array" ? `must have at most ${issue.maximum} items` : issue.message;
    default:
      return issue.message;
  }
}

const isNumber = (origin: string) => origin === "number" || origin === "int";

function withArticle(type: string): string {
  const word = { int: "integer", record: "object" }[type] ?? type;
  return /^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`;
}
