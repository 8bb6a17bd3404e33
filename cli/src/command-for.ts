// A command of hawser to be typed next, for the data directory that this command uses.
import { resolve } from "node:path";
import { dataDirectory } from "./settings.ts";

/** Adds --data only if the command would use another directory without it. */
export function commandFor(data: string, words: string): string {
  const isUsual = resolve(dataDirectory()) === resolve(data);
  return isUsual ? `hawser ${words}` : `hawser ${words} --data ${quoted(data)}`;
}

/** A text as one word of a shell. */
export const quoted = (text: string) =>
  /^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
