// Every word that the pages show. The English source is en.po; `npm run generate` compiles it into en.gen.ts. An id
// that is missing, or a value that a sentence needs and does not get, is an error of the compiler.
import { draw, type Message } from "./draw.ts";
import { messages, type Placeholders } from "./en.gen.ts";

export type WordId = keyof typeof messages;
type Values<Id> = Id extends keyof Placeholders
  ? [values: Record<Placeholders[Id], string | number>]
  : [];

const catalogue: Record<string, Message> = messages;

export function words<Id extends WordId>(id: Id, ...[values]: Values<Id>): string {
  return draw(catalogue[id]!, values ?? {});
}
