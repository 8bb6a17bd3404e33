// Text as callers send it. Lengths count Unicode code points, as JSON Schema does and JavaScript does
// not. Nothing is trimmed.
import { z } from "zod";

/** How many code points a text has: "🙂" is one, though its JavaScript length is two. */
export function codePointLength(text: string): number {
  let surrogatePairs = 0;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      surrogatePairs++;
    }
  }
  return text.length - surrogatePairs;
}

/** The length in code points, or a lower bound of it if that already decides. */
function lengthWithin(text: string, min: number, max: number): number {
  const fewest = Math.ceil(text.length / 2);
  const isDecided = fewest > max || (max === Infinity && fewest >= min);
  return isDecided ? fewest : codePointLength(text);
}

/** A string whose length in code points is within the bounds, both inclusive. */
export function text(bounds: { min?: number; max?: number }) {
  const { min = 0, max = Infinity } = bounds;
  return z
    .string()
    .check((context) => {
      const length = lengthWithin(context.value, min, max);
      if (length < min) {
        context.issues.push({
          code: "too_small",
          origin: "string",
          minimum: min,
          input: context.value,
          message: min === 1 ? "must not be empty" : `must have at least ${min} characters`,
        });
      } else if (length > max) {
        context.issues.push({
          code: "too_big",
          origin: "string",
          maximum: max,
          input: context.value,
          message: `must have at most ${max} characters`,
        });
      }
    })
    .meta({ ...(min > 0 && { minLength: min }), ...(max < Infinity && { maxLength: max }) });
}

/**
 * Marks a field whose value must never reach a log, an audit entry or an event. The mark is JSON
 * Schema's own `writeOnly`, so callers see it too.
 */
export function neverLogged<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ ...schema.meta(), writeOnly: true });
}

/** An absolute path on a host. The host checks whether the path is below a root. */
export const AbsolutePath = z
  .string()
  .check((context) => {
    if (!context.value.startsWith("/")) {
      context.issues.push({
        code: "custom",
        input: context.value,
        message: "must be an absolute path, beginning with /",
      });
    }
  })
  .meta({ pattern: "^/", description: "An absolute path on the host." });
