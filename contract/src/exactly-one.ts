// The rule that exactly one of several optional fields is set. JSON Schema could express it with a
// top-level `oneOf`, but model providers refuse that in tool schemas. So it is a check, and the
// action's details state it.
import type { z } from "zod";

type Payload = z.core.ParsePayload<object>;

/** Refuses an object in which none, or more than one, of the fields has a value other than null. */
export function exactlyOneOf(...fields: string[]) {
  return (payload: Payload): void => {
    const given = fieldsGiven(payload.value, fields);
    if (given.length === 1) return;
    const [wrong, what] = given.length === 0 ? [fields, "is missing"] : [given, "is one too many"];
    objectTo(payload, wrong, `${what}: send exactly one of ${namesOf(fields)}`);
  };
}

/** Refuses an object in which more than one of the fields has a value other than null. */
export function atMostOneOf(...fields: string[]) {
  return (payload: Payload): void => {
    const given = fieldsGiven(payload.value, fields);
    if (given.length > 1) {
      objectTo(payload, given, `is one too many: send at most one of ${namesOf(fields)}`);
    }
  };
}

/** Adds one issue per field, so that the answer names each of them. The message follows the field's name. */
export function objectTo(payload: Payload, fields: string[], message: string): void {
  for (const field of fields) {
    payload.issues.push({ code: "custom", path: [field], input: payload.value, message });
  }
}

function fieldsGiven(value: object, fields: string[]): string[] {
  const values = value as Record<string, unknown>;
  return fields.filter((field) => values[field] !== undefined && values[field] !== null);
}

function namesOf(fields: string[]): string {
  return `${fields.slice(0, -1).join(", ")} and ${fields.at(-1)}`;
}
