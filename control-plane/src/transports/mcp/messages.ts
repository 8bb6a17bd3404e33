// Checks the messages of a request before the protocol's library reads them. It leaves out what its schemas do not
// know, so afterwards nothing could refuse it.
import { Refusal } from "@hawser/contract";
import { refuseUnfit } from "../../dispatch/validate.ts";

const longestId = 256;
/** Levels of a message around the arguments of a tool. */
const around = 4;

export interface Message {
  id?: unknown;
  method?: unknown;
  params?: { name?: unknown; cursor?: unknown; arguments?: unknown };
}

/** The messages in a body. Throws a refusal if one breaks the rules for bodies, or if ids are not usable. */
export function messagesIn(body: unknown): Message[] {
  const values: unknown[] = Array.isArray(body) ? body : [body];
  const messages = values.map((value): Message => (isObject(value) ? value : {}));
  const ids = new Set<unknown>();
  for (const message of messages) {
    refuseUnfit(withoutArguments(message), around);
    const { id } = message;
    if (typeof id === "string" && id.length > longestId) {
      throw invalid("id", `must be at most ${longestId} characters long`);
    }
    if (id === undefined || message.method === undefined) continue;
    // An answer could not be told from the other one.
    if (ids.has(id)) throw invalid("id", "must be different in each message of a batch");
    ids.add(id);
  }
  return messages;
}

/**
 * The dispatcher checks the arguments of a tool, and a model can read its refusals. Only a field that never gets
 * there is left in.
 */
function withoutArguments(message: Message): object {
  const { params } = message;
  if (message.method !== "tools/call" || !isObject(params)) return message;
  const { arguments: input, ...rest } = params as { arguments?: unknown };
  const isDropped = isObject(input) && Object.hasOwn(input, "__proto__");
  return { ...message, params: isDropped ? params : rest };
}

export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function invalid(field: string, message: string): Refusal {
  return new Refusal("invalid_input", `The message is not valid: ${field} ${message}.`, {
    fields: [{ field, message }],
  });
}
