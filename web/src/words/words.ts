// Every word that the pages show. The English source is en.po; `npm run generate` compiles it into en.gen.ts. An id
// that is missing, or a value that a sentence needs and does not get, is an error of the compiler.
import { setupI18n } from "@lingui/core";
import { messages, type Placeholders } from "./en.gen.ts";

export type WordId = keyof typeof messages;
type Values<Id> = Id extends keyof Placeholders
  ? [values: Record<Placeholders[Id], string | number>]
  : [];

const catalogue = setupI18n({ locale: "en", messages: { en: messages } });

export function words<Id extends WordId>(id: Id, ...[values]: Values<Id>): string {
  const message = messages[id];
  // Lingui takes a text without values for one that nobody has compiled, and writes a warning each time.
  return typeof message === "string" ? message : catalogue._(id, values);
}
