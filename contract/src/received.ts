// How a message of another version is read. A sender writes exactly what a schema declares. A receiver
// accepts more, because nodes and daemons are updated at different times, and the other side may be newer.
//
// Limits stay: lengths, ranges, counts and types are checked as the schema declares them.
import { z } from "zod";

/** Schema of a message, for packages that do not import zod. */
export type MessageSchema<Value> = z.ZodType<Value>;

interface ReceivingOptions {
  /**
   * A list may contain an element with a word that this version does not know, such as a new agent kind.
   * `skip` leaves the element out. `refuse` refuses the message, because a command without one of its parts
   * would be another command.
   */
  unknownWords?: "skip" | "refuse";
}

/**
 * The schema as a receiver applies it: fields that it does not declare are left out, at every depth. An
 * object that is a `restriction` must be known in whole.
 */
export function received<Value>(
  schema: MessageSchema<Value>,
  { unknownWords = "skip" }: ReceivingOptions = {},
): MessageSchema<Value> {
  return loosen(schema, unknownWords) as MessageSchema<Value>;
}

const restrictions = new WeakSet<z.core.$ZodType>();

/** Marks an object that limits what may be done: a receiver that ignored a field of it would allow too much. */
export function restriction<Schema extends z.ZodType>(schema: Schema): Schema {
  restrictions.add(schema);
  return schema;
}

const made = { skip: new WeakMap<object, object>(), refuse: new WeakMap<object, object>() };

function loosen(schema: z.core.$ZodType, unknownWords: "skip" | "refuse"): z.core.$ZodType {
  const known = made[unknownWords].get(schema) as z.core.$ZodType | undefined;
  if (known) return known;
  const loose = derive(schema, unknownWords);
  made[unknownWords].set(schema, loose);
  return loose;
}

function derive(schema: z.core.$ZodType, unknownWords: "skip" | "refuse"): z.core.$ZodType {
  if (restrictions.has(schema)) return schema;
  const inner = (part: z.core.$ZodType) => loosen(part, unknownWords);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object": {
      const fields = Object.entries(def.shape).map(([name, field]) => [name, inner(field)]);
      const isStrict = def.catchall?._zod.def.type === "never";
      const catchall = isStrict ? undefined : def.catchall;
      return changed(schema, { shape: Object.fromEntries(fields) as object, catchall });
    }
    case "array": {
      const element = inner(def.element);
      // A command is signed by the control plane, so it is what a version sends.
      if (unknownWords === "refuse") return changed(schema, { element });
      return readingInOrder(schema, element, hasWords(def.element));
    }
    case "record": {
      const mode = unknownWords === "skip" && hasWords(def.keyType) ? "loose" : def.mode;
      return changed(schema, { valueType: inner(def.valueType), mode });
    }
    case "union":
      return changed(schema, { options: def.options.map(inner) });
    case "optional":
    case "nullable":
      return changed(schema, { innerType: inner(def.innerType) });
    default:
      return schema;
  }
}

function changed(schema: z.core.$ZodType, changes: object): z.core.$ZodType {
  return z.clone(schema, { ...schema._zod.def, ...changes });
}

/** Whether a value of this schema contains a word of a fixed list, outside of lists of its own. */
function hasWords(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "enum":
    case "literal":
      return true;
    case "object":
      return Object.values(def.shape).some(hasWords);
    case "union":
      return def.options.some(hasWords);
    case "optional":
    case "nullable":
      return hasWords(def.innerType);
    default:
      return false;
  }
}

/** A newer version has a few new words. A list with more unknown elements comes from no version. */
const mostSkipped = 100;

/**
 * Reads a list element by element, and stops at the first one that is wrong. zod reads all of them and describes
 * every fault, which takes seconds for a message of 1 MB: a host could stall a node with it. Leaves out elements
 * that contain an unknown word if `skips`. The limits of the list count them.
 */
function readingInOrder(
  list: z.core.$ZodType,
  element: z.core.$ZodType,
  skips: boolean,
): z.core.$ZodType {
  const whole = changed(list, { element: z.unknown() }) as z.ZodType<unknown[]>;
  return whole.transform((items, context) => {
    const kept: unknown[] = [];
    let skipped = 0;
    for (const [place, item] of items.entries()) {
      const { success, data, error } = z.safeParse(element, item, { reportInput: true });
      if (success) {
        kept.push(data);
        continue;
      }
      // An element of an unknown kind may also have another shape.
      if (skips && error.issues.some(isUnknownWord) && ++skipped <= mostSkipped) continue;
      const issues = error.issues.map((issue) => ({ ...issue, path: [place, ...issue.path] }));
      context.issues.push(...(issues as unknown as typeof context.issues));
      break;
    }
    return kept;
  });
}

function isUnknownWord(issue: z.core.$ZodIssue): boolean {
  if (issue.code === "invalid_union") return issue.errors.flat().some(isUnknownWord);
  return issue.code === "invalid_value" && typeof issue.input === "string";
}
