// Messages as nodes and daemons of other versions send them: an older one by the frozen samples, a newer one
// by fields and words that this version does not know.
import { readFileSync } from "node:fs";

const samples = new URL("../../host-protocol/messages/0.1.0/", import.meta.url);

/** A message of version 0.1.0, such as `hello`. */
export function olderMessage(name: string): object {
  return JSON.parse(readFileSync(new URL(`${name}.json`, samples), "utf8")) as object;
}

/** Name of the field that only a newer version knows. */
export const laterField = "later";

/** The message with one more field in each of its objects. */
export function asNewer<Message>(message: Message): Message {
  if (Array.isArray(message)) return message.map(asNewer) as Message;
  if (typeof message !== "object" || message === null) return message;
  const fields = Object.entries(message).map(([name, value]) => [name, asNewer(value as unknown)]);
  return { ...Object.fromEntries(fields), [laterField]: [{ deep: 1 }] } as Message;
}
